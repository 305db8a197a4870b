import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A message of the protocol of PostgreSQL: its type, and what follows the length. */
interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/**
 * A TCP proxy in front of PostgreSQL that records each statement as the driver sends it, whichever process sends it,
 * and each error of the server. It may change statements.
 */
export class RecordingProxy implements AsyncDisposable {
  readonly statements: string[] = [];
  /** The parameters of each statement that is executed, those of one statement in one text. */
  readonly parameters: string[] = [];
  /** SQLSTATE and message. */
  readonly errors: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL, change: (statement: string) => string) {
    this.#server = createServer((near) => {
      const far = connect(Number(target.port), target.hostname);
      this.#pass(near, far, messagesOf(true), (message) => this.#recordStatement(message, change));
      this.#pass(far, near, messagesOf(false), (message) => this.#recordError(message));
    });
  }

  static async to(url: string, change = (statement: string) => statement): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(new URL(url), change);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The URL of a role through this proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String((this.#server.address() as AddressInfo).port);
    return changed.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #recordStatement(message: Message, change: (statement: string) => string): Message {
    if (message.type === 'B') this.parameters.push(message.body.toString());
    if (message.type !== 'Q' && message.type !== 'P') return message;
    const start = message.type === 'P' ? message.body.indexOf(0) + 1 : 0;
    const given = textAt(message.body, start);
    const statement = change(given);
    this.statements.push(statement);
    const end = start + Buffer.byteLength(given);
    const body = Buffer.concat([message.body.subarray(0, start), Buffer.from(statement), message.body.subarray(end)]);
    return { type: message.type, body };
  }

  #recordError(message: Message): Message {
    if (message.type === 'E') {
      const fields = message.body.toString().split('\0');
      const field = (type: string) => fields.find((text) => text.startsWith(type))?.slice(1);
      this.errors.push(`${field('C')} ${field('M')}`);
    }
    return message;
  }

  #pass(from: Socket, to: Socket, split: (chunk: Buffer) => readonly Message[], see: (message: Message) => Message) {
    this.#sockets.add(from);
    from.on('data', (chunk) => {
      for (const message of split(chunk)) to.write(bytesOf(see(message)));
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}

function textAt(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start));
}

/** Splits a stream. The first message of a client has no type. */
function messagesOf(isClient: boolean): (chunk: Buffer) => readonly Message[] {
  let rest = Buffer.alloc(0);
  let isFirst = isClient;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const typeLength = isFirst ? 0 : 1;
      if (rest.length < typeLength + 4) return messages;
      const end = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < end) return messages;
      messages.push({ type: rest.toString('latin1', 0, typeLength), body: rest.subarray(typeLength + 4, end) });
      rest = rest.subarray(end);
      isFirst = false;
    }
  };
}

function bytesOf({ type, body }: Message): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type, 'latin1'), length, body]);
}
