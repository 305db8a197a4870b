import { describeHostileRequests } from './describe-hostile.ts';
import { startHostileService } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

// tests/faults/slow-connections.fault.ts has those that take 15 s.
describeHostileRequests('hostile requests', () => startHostileService(), HOSTILE_REQUESTS);
