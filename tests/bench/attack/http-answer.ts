/** What the attackers' driver needs to know of an answer. */
export interface HttpAnswer {
  readonly status: number;
  /** Bytes from its first to its last. */
  readonly length: number;
  /** Whether the server closes the connection behind it. */
  readonly closes: boolean;
}

/**
 * The first answer in what was received, one character a byte; undefined until it is there in full. Reads the one form in
 * which the service answers, a length and no chunks. Throws where it is another.
 */
export function readHttpAnswer(received: string): HttpAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = received.slice(0, headEnd).toLowerCase();
  const contentLength = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (contentLength === undefined) throw new Error('an answer without Content-Length');
  const length = headEnd + 4 + Number(contentLength);
  if (received.length < length) return undefined;
  return {
    status: Number(head.slice(9, 12)),
    length,
    closes: head.includes('\r\nconnection: close'),
  };
}
