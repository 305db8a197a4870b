import type { Command, Project } from './installed-project.ts';

/** Compiles the project, and runs the class in `exec.mainClass`. */
const MAVEN: Command = ['mvn', '-q', '-B', 'compile', 'org.codehaus.mojo:exec-maven-plugin:3.5.1:java'];

const python = (name: string, folders: readonly string[], ...requirements: readonly string[]): Project => ({
  name,
  folders,
  tools: ['python3', '-m', 'venv', '--help'],
  install: [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '-q', ...requirements.flatMap((file) => ['-r', file])],
  ],
});

export const PYTHON_EXAMPLE = python('Python, Flask', ['../../examples/python'], 'requirements.txt');

/** The example, and the packages of the other snippets. */
export const PYTHON = python(
  'Python',
  [...PYTHON_EXAMPLE.folders, 'projects/python'],
  'requirements.txt',
  'requirements-of-snippets.txt',
);

export const PYTHON_KEYS = python('Python, clients with a key', ['projects/keys-python'], 'requirements.txt');

export const MCP_PYTHON = python('Python, MCP', ['projects/mcp-python'], 'requirements.txt');

export const GO_EXAMPLE: Project = {
  name: 'Go',
  folders: ['../../examples/go'],
  tools: ['go', 'version'],
  install: [['go', 'mod', 'download']],
};

export const GO: Project = { ...GO_EXAMPLE, name: 'Go, other libraries', folders: ['projects/go'] };

/** Its program is a file of examples/snippets/keys. */
export const GO_BEARER: Project = {
  ...GO_EXAMPLE,
  name: 'Go, clients with the grant jwt-bearer',
  folders: ['projects/jwt-bearer-go'],
};

export const MCP_GO: Project = { ...GO_EXAMPLE, name: 'Go, MCP', folders: ['projects/mcp-go'] };

export const RUST_CLIENT: Project = {
  name: 'Rust, oauth2',
  folders: ['projects/rust-oauth2'],
  tools: ['cargo', '--version'],
  install: [['cargo', 'fetch', '--quiet']],
};

export const RUST_VERIFIER: Project = {
  ...RUST_CLIENT,
  name: 'Rust, jsonwebtoken',
  folders: ['projects/rust-jsonwebtoken'],
};

/** A project whose classes are run with `exec.mainClass`. */
type MavenProject = Project & { readonly compile: Command };

export const SPRING: MavenProject = {
  name: 'Java, Spring Security, client',
  folders: ['../../examples/spring/client'],
  tools: ['mvn', '--version'],
  install: [['mvn', '-q', '-B', 'dependency:resolve']],
  compile: MAVEN,
};

export const NIMBUS: MavenProject = { ...SPRING, name: 'Java, Nimbus', folders: ['projects/keys-java'] };

export const SPRING_SERVER: MavenProject = {
  ...SPRING,
  name: 'Java, Spring Security, resource server',
  folders: ['../../examples/spring/server'],
};

export const SPRING_VERIFIER: MavenProject = {
  ...SPRING_SERVER,
  folders: [...SPRING_SERVER.folders, 'projects/spring-verifier'],
};

export const KAFKA: MavenProject = {
  ...SPRING,
  name: 'Java, Kafka and Strimzi',
  folders: ['projects/kafka'],
};

export const NODE_EXAMPLE: Project = {
  name: 'Node.js, Express and Fastify',
  folders: ['../../examples/node'],
  tools: ['npm', '--version'],
  install: [['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts']],
};

export const NODE: Project = { ...NODE_EXAMPLE, name: 'Node.js, client-oauth2', folders: ['projects/node'] };

/** Version 1 of the MCP SDK; version 2 is a package of lab/. */
export const MCP_NODE: Project = { ...NODE_EXAMPLE, name: 'Node.js, MCP SDK 1', folders: ['projects/mcp-node'] };

/** The SDK of OpenTelemetry, and what loads it before the service. */
export const TRACING: Project = { ...NODE_EXAMPLE, name: 'OpenTelemetry', folders: ['../../deploy/tracing'] };

/** The gem is not installed: the project uses the one of the machine. */
export const RUBY: Project = {
  name: 'Ruby, oauth2',
  folders: ['projects/ruby'],
  tools: ['ruby', '-e', 'require "oauth2"'],
  install: [],
};

export const OPENID_GO: Project = { ...GO_EXAMPLE, name: 'Go, OpenID Connect', folders: ['projects/openid-go'] };

export const OPENID_RUST: Project = {
  ...RUST_CLIENT,
  name: 'Rust, OpenID Connect',
  folders: ['projects/openid-rust'],
};

/** An application that gets a token, and verifies one. */
export const QUARKUS: Project = {
  ...SPRING,
  name: 'Java, Quarkus',
  folders: ['projects/quarkus'],
  install: [['mvn', '-q', '-B', 'package']],
};
