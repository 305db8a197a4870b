#!/usr/bin/env node
import { runOneProgram } from '../adapters/cli/one-program.ts';
import { nodeProblem, programVersion } from '../adapters/system/program-version.ts';

process.setSourceMapsEnabled(true);
const oldNode = nodeProblem();
if (oldNode !== undefined) {
  process.stderr.write(`${oldNode}\n`);
  process.exit(1);
}

/** `ccauth`: each program of the package and of the image is a command. Each is the entry point of an npm script too. */
await runOneProgram(
  {
    name: 'ccauth',
    description: 'An OAuth 2.0 authorization server for machines, and the programs that come with it.',
    version: programVersion(),
    programs: {
      serve: { summary: 'start the service', load: () => import('./main.ts') },
      demo: { summary: 'start the service with sample clients, to try it out', load: () => import('./demo.ts') },
      doctor: { summary: 'check the settings, and what they depend on', load: () => import('./doctor.ts') },
      clients: { summary: 'manage the registrations in PostgreSQL', load: () => import('./clients.ts') },
      keys: { summary: 'show and revoke the keys that replicas share', load: () => import('./keys.ts') },
      migrate: { summary: "create and change the service's own tables", load: () => import('./migrate.ts') },
      health: {
        summary: 'ask a service with the same settings for /readyz or /livez',
        load: () => import('./health-check.ts'),
      },
    },
  },
  process,
);
