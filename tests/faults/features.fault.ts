import { describeHostileRequests } from '../hostile/describe-hostile.ts';
import { answeredWith, FEATURES } from '../hostile/features.ts';
import { startHostileService } from '../hostile/hostile-service.ts';
import { HOSTILE_REQUESTS } from '../hostile/hostile-table.ts';

// tests/hostile/hostile-requests.test.ts has all of them at once.
for (const [name, feature] of Object.entries(FEATURES)) {
  describeHostileRequests(
    `hostile requests with ${name}`,
    () => startHostileService(feature.options),
    answeredWith(feature, HOSTILE_REQUESTS),
  );
}
