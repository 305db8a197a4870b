/** One response of the public port, and the request that it belongs to. */
export interface ProducedResponse {
  /** As it was sent, or undefined if what was sent was no request. */
  readonly request: { readonly method: string; readonly target: string } | undefined;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const records = new Map<number, ProducedResponse[]>();

/** From now on, keeps the responses of this port that the tests get. */
export function recordResponsesOf(port: number): void {
  records.set(port, []);
}

export function isRecorded(port: number): boolean {
  return records.has(port);
}

export function recordResponse(port: number, response: ProducedResponse): void {
  records.get(port)?.push(response);
}

/** The answers of this port. Ends their record. */
export function takeResponsesOf(port: number): readonly ProducedResponse[] {
  const answers = records.get(port) ?? [];
  records.delete(port);
  return answers;
}
