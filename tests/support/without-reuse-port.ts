import { Server } from 'node:net';

// For `node --import`: a system where sockets cannot share a port, such as macOS and Windows.

const { listen } = Server.prototype;

Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  const [options] = args;
  const asksForIt = typeof options === 'object' && options !== null && 'reusePort' in options && options.reusePort;
  if (!asksForIt) return listen.apply(this, args as Parameters<typeof listen>);
  const error = Object.assign(new Error('listen ENOTSUP: operation not supported on socket'), { code: 'ENOTSUP' });
  process.nextTick(() => this.emit('error', error));
  return this;
} as typeof listen;
