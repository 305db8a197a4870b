import { STATUS_PAGE_PATH } from '../../adapters/http/status-page/status-page-routes.ts';
import { inspectIssuers } from '../../adapters/http-client/federated-jwt/inspect-issuers.ts';
import { askManagementPort, inspectKey } from '../../adapters/http-client/management-port.ts';
import { inspectKeyFile } from '../../adapters/system/inspect-host.ts';
import { inspectCertificate } from '../../adapters/tls/server-certificate.ts';
import { type Finding, fine, type Inspection, note } from '../../application/ports/inspection.ts';
import type { Configuration } from '../settings/configuration.ts';

/** What the doctor looks at for the features that are switched on. @param kid the key that it was asked for. */
export function inspectFeatures(configuration: Configuration, kid: string | undefined): readonly Inspection[] {
  const { settings, issuers, certificate } = configuration;
  const inspections: Inspection[] = [];
  if (settings.CLIENT_ASSERTION_ISSUERS_FILE !== undefined)
    inspections.push({ name: 'trusted issuers', inspect: () => inspectIssuers(issuers) });
  inspections.push({ name: 'status page', inspect: async () => inspectStatusPage(configuration) });
  if (kid !== undefined) inspections.push({ name: 'key', inspect: () => findKey(configuration, kid) });
  if (certificate !== undefined) {
    const inspect = async () => [
      ...inspectCertificate(certificate, settings.BASE_URL, Date.now()),
      ...inspectKeyFile(settings.TLS_KEY_FILE ?? '', 'pose as this service'),
    ];
    inspections.push({ name: 'tls certificate', inspect });
  }
  return inspections;
}

async function findKey({ settings, managementToken }: Configuration, wanted: string): Promise<readonly Finding[]> {
  const { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port, PUBLIC_METADATA: isPublic } = settings;
  const path = '/status/data';
  const keys = await askManagementPort({ host, port, token: managementToken?.reveal() }, path, 'keys');
  if (Array.isArray(keys)) return [inspectKey(wanted, keys, 'the keys of the service that runs')];
  const fix =
    'run it beside the service, with its MANAGEMENT_PORT and MANAGEMENT_TOKEN; with KEY_DIRECTORY=database, compare with npm run keys -- list';
  return isPublic ? [] : [note(`the keys cannot be read, to compare them with ${wanted}`, fix)];
}

const NO_PAGE = fine('there is no status page: MANAGEMENT_TOKEN switches it on');

/** Where the status page is; port 0 is any free one. */
function inspectStatusPage({ settings, managementToken }: Configuration): readonly Finding[] {
  const { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port } = settings;
  if (managementToken === undefined) return [NO_PAGE];
  if (port === 0) return [fine('the status page is on; the service logs its port, since MANAGEMENT_PORT is 0')];
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${STATUS_PAGE_PATH}`;
  const text = `the status page is at ${url}, and asks for MANAGEMENT_TOKEN`;
  if (/^(localhost|127\.|::1$)/.test(host)) return [fine(text)];
  const fix = 'let only operators reach MANAGEMENT_PORT, through a tunnel (docs/operate.md)';
  return [note(`${text}, which travels unencrypted`, fix)];
}
