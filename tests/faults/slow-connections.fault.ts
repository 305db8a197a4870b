import { startHostileService, startHostileServiceWithTls } from '../hostile/hostile-service.ts';
import { describeSlowConnections } from './describe-slow-connections.ts';
import { SLOW_CONNECTIONS, SLOW_HANDSHAKES } from './slow-connections.ts';

describeSlowConnections('slow and half-open connections', startHostileService, SLOW_CONNECTIONS);
describeSlowConnections('the same over TLS', startHostileServiceWithTls, [...SLOW_CONNECTIONS, ...SLOW_HANDSHAKES]);
