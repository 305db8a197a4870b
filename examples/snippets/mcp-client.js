import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const authProvider = new ClientCredentialsProvider({
  clientId: 'my-client',
  clientSecret: 'my-secret',
  expectedIssuer: 'https://auth.example.com',
});

export const client = new Client({ name: 'my-agent', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL('https://mcp.example.com/mcp'), { authProvider }));
