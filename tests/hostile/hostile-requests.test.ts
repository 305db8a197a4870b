import { describeHostileRequests } from './describe-hostile.ts';
import { describeSlowConnections } from './describe-slow-connections.ts';
import { startHostileService } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

describeHostileRequests('hostile requests', () => startHostileService(), HOSTILE_REQUESTS);

// Last, since they take 15 s.
describeSlowConnections();
