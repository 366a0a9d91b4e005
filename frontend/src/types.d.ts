// Shapes that many files share. Types only: nothing of this reaches a browser.

type Choices = typeof import("./state/generated.js").CHOICES;
type Kind = Exclude<Choices["kind"][number], "all">;
type Colour = [red: number, green: number, blue: number];
type Numbers = Uint8Array | Uint16Array | Float32Array | Float64Array;

/** What a person has chosen: a View of transformer/view/state.py. Indices count from 0. */
type State = { [name in keyof Choices]: Choices[name][number] } & {
  layer: number | "all";
  head: number | "all";
  threshold: number;
  cell: [row: number, column: number] | null;
  big: boolean;
};

/** Colours and font around an element (core/colour.js, readTheme). */
type Theme = ReturnType<typeof import("./core/colour.js").readTheme>;

/** A text by its key, with {names} filled in (core/texts.js, makeTexts). */
type Translate = (key: string, values?: Record<string, unknown>) => string;

/** A pack as core/pack.js reads it: a JSON header, and the arrays that it refers to. */
interface Pack {
  header: any;
  array(reference: { dtype: string; shape: number[]; offset: number }): Numbers;
}

/** One matrix as it is drawn (state/trace_model.js, view). */
type HeadView = ReturnType<import("./state/trace_model.js").TraceModel["view"]>;

/** What Streamlit hands to a component. */
interface Component {
  name: string;
  data: any;
  parentElement: HTMLElement | ShadowRoot;
  setStateValue(name: string, value: unknown): void;
  setTriggerValue(name: string, value: unknown): void;
}

interface Window {
  Plotly: any;
  __headscopeFeeds: any;
  __headscopeLeaving: any;
  __headscopeLinks?: { ask: (path: string) => void };
  __headscopeHistory: boolean;
  __headscopeLive: any;
  __headscopeMemory: any;
  __headscopeConnection: any;
}

/** Length and hash of ort.wasm.gz; build.js puts it into the engine. */
declare const ORT_WASM: { bytes: number; hash: string };
