import { define } from '../capability.ts';

/** `WORKERS`: several processes answer requests on one port, with one set of keys. */
export const workers = define({
  name: 'workers',
  launch(launch) {
    if (launch.configuration.settings.WORKERS === 1) return undefined;
    return import('./workers/start-primary.ts').then(({ startPrimary }) => startPrimary(launch));
  },
});
