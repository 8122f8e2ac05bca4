#include <relay/lsp/server.h>

#include <functional>
#include <map>
#include <unordered_map>

#include <relay/lsp/features.h>
#include <relay/support/error.h>

namespace relay::lsp {
namespace {

// How long an editor must be silent before a changed text is checked.
constexpr int kQuiet = 2;  // milliseconds
// And before the whole program is looked at.
constexpr int kLongQuiet = 150;
constexpr size_t kMostText = size_t{1} << 27;

struct Document {
  Analysis analysis;
  json version;
  bool changed = true;  // since the last check
  bool deep = false;    // the whole program was looked at since then

  bool is_changed() const { return changed; }
  bool is_shallow() const { return !deep; }
};

class Server {
 public:
  Server(int input, int output) : connection_(input, output) {
    add_requests();
    add_notifications();
  }

  int run() {
    for (;;) {
      json message;
      try {
        switch (connection_.wait(patience(), message)) {
          case Connection::Arrival::kTimeout:
            if (anything(&Document::is_changed)) {
              check_changed();
            } else {
              check_deeply();
            }
            continue;
          case Connection::Arrival::kEnd:
            return shut_down_ ? 0 : 1;
          case Connection::Arrival::kMessage:
            break;
        }
        handle(message);
      } catch (const RequestError& error) {
        send_error(nullptr, error);
      }
      if (exited_ || broken_) return shut_down_ ? 0 : 1;
    }
  }

 private:
  using Handler = std::function<json(const json&)>;

  void send(json message) {
    message["jsonrpc"] = "2.0";
    if (!connection_.send(message)) broken_ = true;
  }
  void send_error(const json& id, const RequestError& error) {
    send({{"id", id}, {"error", {{"code", error.code}, {"message", error.message}}}});
  }
  void log(const std::string& text) {
    send({{"method", "window/logMessage"}, {"params", {{"type", 1}, {"message", text}}}});
  }

  void handle(const json& message) {
    if (!message.is_object() || !message.contains("method") || !message["method"].is_string()) {
      // Answers to requests of ours have no method; none is waited for.
      if (message.is_object() && (message.contains("result") || message.contains("error"))) return;
      throw RequestError{RequestError::kInvalidRequest, "a message without a method"};
    }
    const std::string method = message["method"];
    const json params = message.contains("params") ? message["params"] : json::object();
    const bool request = message.contains("id");
    const json id = request ? message["id"] : json();
    if (request && !id.is_string() && !id.is_number_integer())
      throw RequestError{RequestError::kInvalidRequest, "the id of a request is a number or text"};
    try {
      const std::map<std::string, Handler>& handlers = request ? requests_ : notifications_;
      auto handler = handlers.find(method);
      if (request && shut_down_)
        throw RequestError{RequestError::kInvalidRequest, "the server is shut down"};
      if (request && !initialized_ && method != "initialize")
        throw RequestError{RequestError::kNotInitialized, "the first request is initialize"};
      if (handler == handlers.end()) {
        if (!request) return;
        throw RequestError{RequestError::kNoMethod, "there is no method " + method};
      }
      json result = handler->second(params);
      if (request) send({{"id", id}, {"result", std::move(result)}});
    } catch (const RequestError& error) {
      answer_error(request, id, method, error);
    } catch (const json::exception& error) {
      answer_error(request, id, method, {RequestError::kInvalidParams, error.what()});
    } catch (const std::exception& error) {
      answer_error(request, id, method, {RequestError::kInternal, error.what()});
    }
  }
  void answer_error(bool request, const json& id, const std::string& method,
                    const RequestError& error) {
    if (request) {
      send_error(id, error);
    } else {
      log(method + ": " + error.message);
    }
  }

  // ---- Texts ----
  Document& document(const json& params) {
    const std::string uri = params.at("textDocument").at("uri");
    auto found = documents_.find(uri);
    if (found == documents_.end())
      throw RequestError{RequestError::kInvalidParams, uri + " is not open"};
    return found->second;
  }
  static size_t number(const json& value) {
    if (!value.is_number_unsigned())
      throw RequestError{RequestError::kInvalidParams, "a position has numbers from 0 on"};
    return value.get<size_t>();
  }
  static Position position(const json& value) {
    return {number(value.at("line")), number(value.at("character"))};
  }
  static std::pair<size_t, size_t> offsets(const json& range, std::string_view text,
                                           const LineIndex& lines) {
    const size_t begin = lines.offset(text, position(range.at("start")));
    const size_t end = lines.offset(text, position(range.at("end")));
    if (end < begin)
      throw RequestError{RequestError::kInvalidParams, "a range ends before it begins"};
    return {begin, end};
  }
  static void refuse_long(const std::string& text) {
    if (text.size() > kMostText)
      throw RequestError{RequestError::kInvalidParams, "the text is too long"};
  }

  void change(const json& params) {
    Document& changed = document(params);
    std::string text = changed.analysis.text();
    LineIndex lines = changed.analysis.lines();
    const json& changes = params.at("contentChanges");
    for (const json& one : changes) {
      const std::string& inserted = one.at("text").get_ref<const std::string&>();
      if (one.contains("range")) {
        const auto [begin, end] = offsets(one["range"], text, lines);
        text.replace(begin, end - begin, inserted);
      } else {
        text = inserted;
      }
      refuse_long(text);
      if (changes.size() > 1) lines = LineIndex(text);
    }
    changed.analysis.set_text(std::move(text));
    changed.version = params.at("textDocument").value("version", json());
    changed.changed = true;
  }

  bool anything(bool (Document::*is)() const) const {
    for (const auto& [uri, document] : documents_) {
      if ((document.*is)()) return true;
    }
    return false;
  }
  int patience() const {
    if (anything(&Document::is_changed)) return kQuiet;
    return anything(&Document::is_shallow) ? kLongQuiet : -1;
  }
  void check_deeply() {
    for (auto& [uri, document] : documents_) {
      if (!document.is_shallow()) continue;
      document.deep = true;
      if (document.analysis.check_deeply()) publish(uri, document);
    }
  }
  void check_changed() {
    for (auto& [uri, document] : documents_) {
      if (document.changed) check(uri, document);
    }
  }
  void check(const std::string& uri, Document& document) {
    document.changed = false;
    document.deep = false;
    try {
      document.analysis.check();
    } catch (const std::exception& error) {
      document.analysis.forget();
      log(std::string("checking failed: ") + error.what());
      return;
    }
    publish(uri, document);
  }
  void publish(const std::string& uri, const Document& document) {
    json params{{"uri", uri}, {"diagnostics", diagnostics({document.analysis, uri})}};
    if (document.version.is_number_integer()) params["version"] = document.version;
    send({{"method", "textDocument/publishDiagnostics"}, {"params", std::move(params)}});
  }

  // ---- Methods ----
  using AtPlace = json (*)(const View&, size_t);
  void add_at_place(const std::string& method, AtPlace answer, bool typed) {
    requests_["textDocument/" + method] = [this, answer, typed](const json& params) {
      auto [view, offset] = place(params, typed);
      return answer(view, offset);
    };
  }
  std::pair<View, size_t> place(const json& params, bool typed) {
    const View shown = view(params, typed);
    return {shown,
            shown.analysis.lines().offset(shown.analysis.text(), position(params.at("position")))};
  }
  // `typed`: with the types of the text as it is, not as it was checked last.
  View view(const json& params, bool typed) {
    Document& found = document(params);
    const std::string& uri = documents_.find(params.at("textDocument").at("uri"))->first;
    if (typed && found.changed) check(uri, found);
    return {found.analysis, uri};
  }
  std::pair<size_t, size_t> range(const json& params, const View& view) {
    return offsets(params.at("range"), view.analysis.text(), view.analysis.lines());
  }

  void add_requests() {
    requests_["initialize"] = [this](const json&) { return initialize(); };
    requests_["shutdown"] = [this](const json&) {
      shut_down_ = true;
      return json();
    };
    add_at_place("hover", hover, true);
    add_at_place("completion", completion, false);
    add_at_place("signatureHelp", signature_help, false);
    add_at_place("definition", definition, false);
    add_at_place("documentHighlight", highlights, false);
    add_at_place("prepareRename", prepare_rename, false);
    requests_["textDocument/references"] = [this](const json& params) {
      auto [view, offset] = place(params, false);
      const json context = params.value("context", json::object());
      return references(view, offset, context.value("includeDeclaration", true));
    };
    requests_["textDocument/rename"] = [this](const json& params) {
      auto [view, offset] = place(params, false);
      return rename(view, offset, params.at("newName"));
    };
    requests_["textDocument/inlayHint"] = [this](const json& params) {
      const View shown = view(params, true);
      auto [begin, end] = range(params, shown);
      return inlay_hints(shown, begin, end);
    };
    requests_["textDocument/codeAction"] = [this](const json& params) {
      const View shown = view(params, true);
      auto [begin, end] = range(params, shown);
      return code_actions(shown, begin, end);
    };
    auto whole = [this](const char* method, json (*answer)(const View&), bool typed) {
      requests_[std::string("textDocument/") + method] = [this, answer, typed](const json& params) {
        return answer(view(params, typed));
      };
    };
    whole("formatting", formatting, false);
    whole("documentSymbol", document_symbols, false);
    whole("foldingRange", folding_ranges, false);
    requests_["textDocument/semanticTokens/full"] = [this](const json& params) {
      const View shown = view(params, false);
      return semantic_tokens(shown, 0, shown.analysis.text().size());
    };
    requests_["textDocument/semanticTokens/range"] = [this](const json& params) {
      const View shown = view(params, false);
      auto [begin, end] = range(params, shown);
      return semantic_tokens(shown, begin, end);
    };
  }

  void add_notifications() {
    notifications_["exit"] = [this](const json&) {
      exited_ = true;
      return json();
    };
    notifications_["textDocument/didOpen"] = [this](const json& params) {
      const json& opened = params.at("textDocument");
      std::string text = opened.at("text");
      refuse_long(text);
      Document& made = documents_[opened.at("uri").get<std::string>()];
      made.analysis.set_text(std::move(text));
      made.version = opened.value("version", json());
      made.changed = true;
      return json();
    };
    notifications_["textDocument/didChange"] = [this](const json& params) {
      change(params);
      return json();
    };
    notifications_["textDocument/didSave"] = [this](const json& params) {
      Document& saved = document(params);
      saved.analysis.forget();
      saved.changed = true;
      return json();
    };
    notifications_["textDocument/didClose"] = [this](const json& params) {
      const std::string uri = params.at("textDocument").at("uri");
      documents_.erase(uri);
      send({{"method", "textDocument/publishDiagnostics"},
            {"params", {{"uri", uri}, {"diagnostics", json::array()}}}});
      return json();
    };
  }

  json initialize() {
    if (initialized_) throw RequestError{RequestError::kInvalidRequest, "initialized already"};
    initialized_ = true;
    json capabilities{
        {"positionEncoding", "utf-16"},
        {"textDocumentSync",
         {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
        {"hoverProvider", true},
        {"definitionProvider", true},
        {"referencesProvider", true},
        {"documentHighlightProvider", true},
        {"documentSymbolProvider", true},
        {"foldingRangeProvider", true},
        {"documentFormattingProvider", true},
        {"inlayHintProvider", true},
        {"renameProvider", {{"prepareProvider", true}}},
        {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
        {"completionProvider", {{"triggerCharacters", {"%", "@", "."}}}},
        {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
        {"semanticTokensProvider", {{"legend", token_legend()}, {"full", true}, {"range", true}}}};
    return {{"capabilities", std::move(capabilities)},
            {"serverInfo", {{"name", "relay"}, {"version", RELAY_VERSION}}}};
  }

  Connection connection_;
  std::map<std::string, Handler> requests_;
  std::map<std::string, Handler> notifications_;
  std::unordered_map<std::string, Document> documents_;
  bool initialized_ = false;
  bool shut_down_ = false;
  bool exited_ = false;
  bool broken_ = false;
};

}  // namespace

int serve(int input, int output) { return Server(input, output).run(); }

}  // namespace relay::lsp
