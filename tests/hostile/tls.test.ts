import { readFileSync } from 'node:fs';
import { CertificateAuthority } from '../support/certificates.ts';
import { ISSUER } from '../support/running-service.ts';
import { describeHostileGroups } from './describe-hostile.ts';
import { startHostileService } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

describeHostileGroups(
  'hostile requests over TLS',
  () => {
    using authority = new CertificateAuthority();
    const { certificate, key } = authority.issue('DNS:issuer.test');
    return startHostileService({
      settings: { BASE_URL: 'https://issuer.test', TOKEN_ISSUER: ISSUER },
      files: { TLS_CERT_FILE: readFileSync(certificate, 'utf8'), TLS_KEY_FILE: readFileSync(key, 'utf8') },
    });
  },
  HOSTILE_REQUESTS,
);
