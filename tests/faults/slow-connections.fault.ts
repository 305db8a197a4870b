import { describeSlowConnections } from '../hostile/describe-slow-connections.ts';
import { startHostileService, startHostileServiceWithTls } from '../hostile/hostile-service.ts';
import { SLOW_CONNECTIONS, SLOW_HANDSHAKES } from '../hostile/slow-connections.ts';

describeSlowConnections('slow and half-open connections', startHostileService, SLOW_CONNECTIONS);
describeSlowConnections('the same over TLS', startHostileServiceWithTls, [...SLOW_CONNECTIONS, ...SLOW_HANDSHAKES]);
