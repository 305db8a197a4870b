import { once } from 'node:events';
import { connect } from 'node:tls';
import { NO_ANSWER, readHttpResponse } from './raw-connection.ts';

/** Opens a new TLS connection for each request, as many callers do. Their programs resume no session. */
export class TlsConnection implements Disposable {
  readonly #port: number;
  readonly #authority: string;

  /** @param authority the certificate that the server's must be signed by, PEM. */
  constructor(port: number, authority: string) {
    this.#port = port;
    this.#authority = authority;
  }

  async statusOf(request: string): Promise<number> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', ca: this.#authority });
    try {
      await once(socket, 'secureConnect');
      socket.setNoDelay(true).setEncoding('latin1').write(request, 'latin1');
      let received = '';
      for await (const chunk of socket) {
        received += chunk;
        const response = readHttpResponse(received);
        if (response !== undefined) return response.status;
      }
      return NO_ANSWER;
    } catch {
      return NO_ANSWER;
    } finally {
      socket.destroy();
    }
  }

  /** A connection ends with its response. */
  [Symbol.dispose](): void {}
}
