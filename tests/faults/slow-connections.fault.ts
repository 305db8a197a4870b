import { describeSlowConnections } from '../hostile/describe-slow-connections.ts';

describeSlowConnections();
