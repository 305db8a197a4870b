import type { NewClient } from '../../domain/client-registration.ts';

/** The secret of the registered client. */
export const REGISTERED_SECRET = 'good-secret';

/** A registration in the domain's form. Its secret is the BCrypt encoding, cost 4, of `good-secret`. */
export const REGISTERED_CLIENT: NewClient = {
  clientId: 'good-client',
  clientSecret: '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy',
  clientName: 'A client in good standing',
  scope: 'read write',
};
