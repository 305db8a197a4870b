import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { send } from '../support/http.ts';

export interface Rename {
  readonly from: string;
  readonly to: string;
}

/** A proxy on loopback that gives one name, or one text, of every JSON answer another: a change that breaks a contract. */
export class RenamingProxy implements AsyncDisposable {
  readonly #server: Server;

  private constructor(target: string, { from, to }: Rename) {
    this.#server = createServer(async (incoming, outgoing) => {
      const body = Buffer.concat(await incoming.toArray());
      const { method = 'GET', url = '/', headers } = incoming;
      const answer = await send(target, url, { method, headers: headers as Record<string, string | string[]>, body });
      const { 'content-length': _length, ...fields } = answer.headers;
      outgoing.writeHead(answer.status, fields);
      outgoing.end(answer.text.replaceAll(JSON.stringify(from), JSON.stringify(to)));
    });
  }

  static async to(target: string, rename: Rename): Promise<RenamingProxy> {
    const proxy = new RenamingProxy(target, rename);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
