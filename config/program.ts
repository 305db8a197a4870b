#!/usr/bin/env node
import './thread-pool-size.ts';
import { runOneProgram } from '../adapters/cli/one-program.ts';
import { nodeProblem, programVersion } from '../adapters/system/program-version.ts';

process.setSourceMapsEnabled(true);
const oldNode = nodeProblem();
if (oldNode !== undefined) {
  process.stderr.write(`${oldNode}\n`);
  process.exit(1);
}

/** `ccauth`: each program of the package and the image is a command, and the entry point of an npm script. */
await runOneProgram(
  {
    name: 'ccauth',
    description: 'An OAuth 2.0 authorization server for machines, and the programs that come with it.',
    version: programVersion(),
    programs: {
      serve: ['start the service', () => import('./main.ts')],
      demo: ['start the service with sample clients, to try it out', () => import('./demo.ts')],
      doctor: ['check the settings, and what they depend on', () => import('./doctor.ts')],
      clients: ['manage the registrations in a database', () => import('./clients.ts')],
      keys: ['show and revoke the keys that replicas share', () => import('./keys.ts')],
      migrate: ["create and change the service's own tables", () => import('./migrate.ts')],
      health: ['ask a service with the same settings for /readyz or /livez', () => import('./health-check.ts')],
    },
  },
  process,
);
