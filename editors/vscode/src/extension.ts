// Starts `relay lsp` and connects it to the editor.
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("relay");
  const server: ServerOptions = {
    command: settings.get<string>("path", "relay"),
    args: [...settings.get<string[]>("arguments", []), "lsp"],
  };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "relay" },
      { scheme: "untitled", language: "relay" },
    ],
  };
  client = new LanguageClient("relay", "Relay", server, options);
  try {
    await client.start();
  } catch (error) {
    void vscode.window.showErrorMessage(
      `Relay: ${server.command} does not start. Set relay.path to the command. (${String(error)})`,
    );
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  if (running?.isRunning()) await running.stop();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const restart = async (): Promise<void> => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("relay.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("relay")) void restart();
    }),
  );
  await start();
}

export function deactivate(): Promise<void> {
  return stop();
}
