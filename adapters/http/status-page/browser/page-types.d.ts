// For the type checker only. page.html has what the scripts look for; the tests in a browser show that it is there.

type StatusData = import('../status-data.ts').StatusData;
type StatusSample = import('../status-data.ts').StatusSample;
type RefusalRecord = import('../../../../application/ports/telemetry.ts').RefusalRecord;

interface ParentNode {
  querySelector(selectors: string): HTMLInputElement;
  querySelectorAll(selectors: string): NodeListOf<HTMLInputElement & HTMLTableElement>;
}
interface Document {
  /** page.html has every element that the scripts ask for: inputs, one `details`, and others of which they use only common fields. */
  getElementById(id: string): HTMLInputElement & HTMLDetailsElement;
}
