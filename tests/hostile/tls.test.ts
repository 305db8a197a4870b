import { describeHostileGroups } from './describe-hostile.ts';
import { startHostileServiceWithTls } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

describeHostileGroups('hostile requests over TLS', startHostileServiceWithTls, HOSTILE_REQUESTS);
