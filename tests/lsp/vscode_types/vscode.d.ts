// The part of VS Code's interface that the extension uses.
declare module "vscode" {
  export interface Disposable {
    dispose(): unknown;
  }
  export interface WorkspaceConfiguration {
    get<T>(section: string, defaultValue: T): T;
  }
  export interface ConfigurationChangeEvent {
    affectsConfiguration(section: string): boolean;
  }
  export interface ExtensionContext {
    readonly subscriptions: Disposable[];
  }
  export namespace workspace {
    function getConfiguration(section?: string): WorkspaceConfiguration;
    function onDidChangeConfiguration(listener: (event: ConfigurationChangeEvent) => unknown): Disposable;
  }
  export namespace window {
    function showErrorMessage(message: string): PromiseLike<string | undefined>;
  }
  export namespace commands {
    function registerCommand(command: string, callback: (...args: unknown[]) => unknown): Disposable;
  }
}
