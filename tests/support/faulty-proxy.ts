import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** How the network behaves: normally, with each chunk delayed, or dropping everything while connections stay open. */
type NetworkState =
  | { readonly kind: 'well' }
  | { readonly kind: 'slow'; readonly delayMs: number }
  | { readonly kind: 'silent' };

/** A TCP proxy on loopback whose network can fail on demand. A connection that was open during silence stays silent. */
export class FaultyProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The connections to the server, among all sockets. */
  readonly #toServer = new Set<Socket>();
  readonly #silenced = new WeakSet<Socket>();
  readonly #forgotten = new WeakSet<Socket>();
  #state: NetworkState = { kind: 'well' };
  #target: number;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((near) => {
      const far = connect(this.#target, '127.0.0.1');
      this.#toServer.add(far);
      far.once('close', () => this.#toServer.delete(far));
      this.#pass(near, far);
      this.#pass(far, near);
    });
  }

  static async to(port: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Where the next connections go, as when a name stands for another machine. */
  set target(port: number) {
    this.#target = port;
  }

  set network(state: NetworkState) {
    this.#state = state;
    if (state.kind === 'silent') for (const socket of this.#sockets) this.#silenced.add(socket);
  }

  /** Resets each open connection when it is used again, as happens when a firewall has dropped its state. */
  forgetConnections(): void {
    for (const socket of this.#sockets) this.#forgotten.add(socket);
  }

  /**
   * Breaks each open connection when the server answers: what it was told to do is done, and the client does not hear
   * of it.
   */
  loseResponses(): void {
    for (const socket of this.#toServer) this.#forgotten.add(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    if (this.#state.kind === 'silent') this.#silenced.add(from);
    from.on('data', (chunk) => {
      const state = this.#state;
      if (this.#forgotten.has(from)) {
        from.resetAndDestroy();
        return;
      }
      if (this.#silenced.has(from)) return;
      if (state.kind === 'slow') setTimeout(() => to.write(chunk), state.delayMs);
      else to.write(chunk);
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      if (!this.#silenced.has(from)) to.destroy();
    });
  }
}
