import type { Expectation, Row, RowRequest } from './rows.ts';

/** A request as a target sends it. */
export interface PreparedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
}

export interface TargetResponse {
  readonly status: number;
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Where the rows are sent: a server behind a socket, or a function. */
export type Target = (request: PreparedRequest) => Promise<TargetResponse>;

export interface Subject {
  readonly send: Target;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The path of the token endpoint. */
  readonly tokenPath: string;
}

export interface RowResult {
  readonly row: Row;
  /** What the response lacks; none if the row holds. */
  readonly problems: readonly string[];
}

/** Header fields that differ between two equal answers, and between a socket and a function. */
const CHANGING = new Set(['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding', 'content-length']);

/** Sends the rows one after the other, each once, and says which hold. */
export async function checkRows(rows: readonly Row[], subject: Subject): Promise<readonly RowResult[]> {
  const answers = new Map<string, TargetResponse>();
  const results: RowResult[] = [];
  for (const row of rows) {
    const issued = answers.values().map(tokenOf).find(Boolean) ?? 'no.token.yet';
    const response = await subject.send(prepare(row.request, subject, issued));
    answers.set(row.name, response);
    results.push({ row, problems: problemsOf(response, row.expect, answers) });
  }
  return results;
}

function prepare(request: RowRequest, subject: Subject, issued: string): PreparedRequest {
  const { method = 'POST', path = subject.tokenPath, query = '', headers = [], body } = request;
  const filled = (text: string, encode: (value: string) => string) =>
    text
      .replaceAll('{id}', encode(subject.clientId))
      .replaceAll('{secret}', encode(subject.clientSecret))
      .replaceAll('{token}', issued);
  const isTyped = headers.some(([name]) => name === 'content-type');
  return {
    method,
    path: path + filled(query, encodeURIComponent),
    headers: [
      ...(body !== undefined && !isTyped ? [['content-type', 'application/x-www-form-urlencoded'] as const] : []),
      ...headers.map(([name, value]) => [name, filled(value, String)] as const),
    ],
    body: body === undefined ? undefined : filled(body, encodeURIComponent),
  };
}

function problemsOf(
  response: TargetResponse,
  expected: Expectation,
  earlier: ReadonlyMap<string, TargetResponse>,
): readonly string[] {
  const fields = jsonOf(response);
  const { status, error, headers = {}, fields: values = {}, without = [], sameAs, noBody } = expected;
  const wrong: string[] = [];
  if (response.status !== status) wrong.push(`status ${response.status} instead of ${status}`);
  if (error !== undefined && fields['error'] !== error)
    wrong.push(`error ${text(fields['error'])} instead of ${error}`);
  for (const [name, pattern] of Object.entries(headers)) {
    if (!pattern.test(response.headers[name] ?? '')) wrong.push(`${name}: ${response.headers[name] ?? 'absent'}`);
  }
  for (const [name, pattern] of Object.entries(values)) {
    // Never the value, which may be a token.
    if (!pattern.test(text(fields[name])))
      wrong.push(`field ${name} is ${name in fields ? 'of another form' : 'absent'}`);
  }
  for (const name of without) if (name in fields) wrong.push(`field ${name} is present`);
  if (noBody && response.text !== '') wrong.push('a body');
  const other = sameAs === undefined ? undefined : earlier.get(sameAs);
  if (other !== undefined && lookOf(response) !== lookOf(other)) wrong.push(`differs from the response to "${sameAs}"`);
  return wrong;
}

/** What a caller sees of a response, apart from what differs each time. */
function lookOf({ status, headers, text }: TargetResponse): string {
  const fields = Object.entries(headers).filter(([name]) => !CHANGING.has(name));
  return JSON.stringify([status, fields.toSorted(), text]);
}

function tokenOf(response: TargetResponse): string {
  const { access_token: token } = jsonOf(response);
  return typeof token === 'string' ? token : '';
}

function jsonOf({ text }: TargetResponse): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'absent');
}
