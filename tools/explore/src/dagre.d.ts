// The part of dagre 0.8 that the page uses.
declare module "dagre" {
  export namespace graphlib {
    class Graph {
      constructor(options?: { directed?: boolean; multigraph?: boolean });
      setGraph(label: Record<string, unknown>): void;
      setDefaultEdgeLabel(make: () => Record<string, unknown>): void;
      setNode(name: string, label: { width: number; height: number }): void;
      setEdge(from: string, to: string): void;
      node(name: string): { x: number; y: number };
      graph(): { width?: number; height?: number };
    }
  }
  export function layout(graph: graphlib.Graph): void;
}
