import type { ListeningPlace } from '../../adapters/system/listen-problem.ts';
import type { Settings } from './settings.ts';

/** Where the service listens. */
export function listeningPlaces({ HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT }: Settings): readonly ListeningPlace[] {
  return [
    { portSetting: 'PORT', hostSetting: 'HOST', host: HOST, port: PORT },
    { portSetting: 'MANAGEMENT_PORT', hostSetting: 'MANAGEMENT_HOST', host: MANAGEMENT_HOST, port: MANAGEMENT_PORT },
  ];
}
