/** One answer of the public port, and the request that it belongs to. */
export interface ProducedAnswer {
  /** As it was sent, or undefined if what was sent was no request. */
  readonly request: { readonly method: string; readonly target: string } | undefined;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const records = new Map<number, ProducedAnswer[]>();

/** From now on, keeps the answers of this port that the tests get. */
export function recordAnswersOf(port: number): void {
  records.set(port, []);
}

export function isRecorded(port: number): boolean {
  return records.has(port);
}

export function recordAnswer(port: number, answer: ProducedAnswer): void {
  records.get(port)?.push(answer);
}

/** The answers of this port. Ends their record. */
export function takeAnswersOf(port: number): readonly ProducedAnswer[] {
  const answers = records.get(port) ?? [];
  records.delete(port);
  return answers;
}
