// The part of vscode-languageclient that the extension uses.
declare module "vscode-languageclient/node" {
  export interface Executable {
    command: string;
    args?: string[];
  }
  export type ServerOptions = Executable;
  export interface LanguageClientOptions {
    documentSelector?: { scheme?: string; language?: string }[];
  }
  export class LanguageClient {
    constructor(id: string, name: string, server: ServerOptions, options: LanguageClientOptions);
    start(): Promise<void>;
    stop(): Promise<void>;
    isRunning(): boolean;
  }
}
