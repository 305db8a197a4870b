import { answeredWith, CAPABILITIES } from '../hostile/capabilities.ts';
import { describeHostileRequests } from '../hostile/describe-hostile.ts';
import { startHostileService } from '../hostile/hostile-service.ts';
import { HOSTILE_REQUESTS } from '../hostile/hostile-table.ts';

// tests/hostile/hostile-requests.test.ts has all of them at once.
for (const [name, capability] of Object.entries(CAPABILITIES)) {
  describeHostileRequests(
    `hostile requests with ${name}`,
    () => startHostileService(capability.options),
    answeredWith(capability, HOSTILE_REQUESTS),
  );
}
