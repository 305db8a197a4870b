import { describeHostileRequests } from './describe-hostile.ts';
import { answeredWith, EVERYTHING } from './features.ts';
import { startHostileServiceWithTls } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

// In a file without a database, since the mutation of adapters/http runs it (lab/mutation/areas.ts).
// tests/faults/features.fault.ts has each of the features by itself.
describeHostileRequests(
  'hostile requests over TLS, with every feature switched on',
  () => startHostileServiceWithTls(EVERYTHING.options),
  answeredWith(EVERYTHING, HOSTILE_REQUESTS),
);
