import { answeredWith, EVERYTHING } from './capabilities.ts';
import { describeHostileGroups } from './describe-hostile.ts';
import { startHostileService } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

// tests/faults/capabilities.fault.ts has each of them by itself.
describeHostileGroups(
  'hostile requests with every capability switched on',
  () => startHostileService(EVERYTHING.options),
  answeredWith(EVERYTHING, HOSTILE_REQUESTS),
);
