import { VERIFICATION_QUEUE_LIMITS } from '../../../adapters/secrets/verification-queue.ts';

// For `node --import`, in the processes of a measured service: few requests may wait, so that the queue can be filled
// before the first of them is answered, on a busy machine too.
Object.assign(VERIFICATION_QUEUE_LIMITS, { unanswered: 200 });
