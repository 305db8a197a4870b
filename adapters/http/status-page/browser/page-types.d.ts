// For the type checker only. page.html has what the scripts look for; the tests in a browser show that it is there.

type StatusData = import('../status-data.ts').StatusData;
type StatusSample = import('../status-data.ts').StatusSample;
type RefusalRecord = import('../../../../application/ports/telemetry.ts').RefusalRecord;

/** Loaded by a script element of its own. */
declare const uPlot: typeof import('uplot');

interface ParentNode {
  querySelector(selectors: string): HTMLElement;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
interface Document {
  /** page.html has every element that the scripts ask for: inputs, one `details`, and others of which they use only common members. */
  getElementById(id: string): HTMLInputElement & HTMLDetailsElement;
}
