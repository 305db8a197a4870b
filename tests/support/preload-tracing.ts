// Loaded before a service in a process: traces its requests as an SDK of OpenTelemetry with its instrumentation of
// node:http does, and writes the span of each request on standard error, behind the word `span`.
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { isMainThread } from 'node:worker_threads';
import { inSpan, installContext } from './tracing.ts';

let requests = 0;

function traceIdOf({ headers }: IncomingMessage): string {
  requests += 1;
  const [, sent] = /^00-([\da-f]{32})-/.exec(String(headers['traceparent'])) ?? [];
  return sent ?? String(requests).padStart(32, '0');
}

if (isMainThread) {
  installContext();
  const emit: (this: Server, event: string, ...args: unknown[]) => boolean = Server.prototype.emit;
  Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]) {
    if (event !== 'request') return emit.call(this, event, ...args);
    const [request, response] = args as [IncomingMessage, ServerResponse];
    const traceId = traceIdOf(request);
    const attributes = { 'url.path': request.url ?? '', 'url.query': request.url ?? '' };
    const span = { traceId, spanId: traceId.slice(16), name: 'HTTP', status: 0, attributes };
    inSpan(span, () => emit.call(this, event, ...args));
    response.once('close', () => process.stderr.write(`span ${JSON.stringify(span)}\n`));
    return true;
  };
}
