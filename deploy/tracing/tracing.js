// Loaded before the service by `NODE_OPTIONS="--import /path/to/tracing.js"`. docs/operate.md says what it does.
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { NodeSDK } from '@opentelemetry/sdk-node';

/** Milliseconds to send the last spans. The service has to end within a second more. */
const LAST_SPANS_MS = 1_000;

/** Probes and scrapers come every few seconds. */
const isProbe = ({ url }) => /^\/(livez|readyz|metrics)\b/.test(url);

// The threads that sign need no tracing.
if (isMainThread) {
  const sdk = new NodeSDK({
    instrumentations: [new HttpInstrumentation({ ignoreIncomingRequestHook: isProbe })],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  // Instruments the module that the service imports.
  createRequire(import.meta.url)('node:http');
  process.once('beforeExit', () => {
    setTimeout(() => process.exit(), LAST_SPANS_MS).unref();
    sdk.shutdown();
  });
}
