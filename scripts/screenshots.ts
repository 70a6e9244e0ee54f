/**
 * Takes the screenshots in docs/images from a real server with example files: `node scripts/screenshots.ts`. Needs
 * chromium-headless-shell on PATH and a built console (`npm run build:console`).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

const images = new URL('../docs/images/', import.meta.url).pathname
const main = new URL('../src/main.ts', import.meta.url).pathname
/** Milliseconds. The first start creates a database. */
const startTimeout = 60_000
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-sync']

const files: Record<string, string> = {
  '/Projects/Atlas/plan.md': '# Atlas\n\n- Collect requirements\n- Build the first version\n- Ship it\n',
  '/Projects/Atlas/budget.csv': 'item,cost\ndesign,1200\nbuild,4800\n',
  '/Projects/Atlas/notes.txt': 'Call the printer before Friday.\n',
  '/Projects/Borealis/readme.md': '# Borealis\n',
  '/Photos/harbor.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"><rect width="4" height="3" fill="#9cf"/></svg>',
  '/Backups/db-2026-11-20.sql': `-- ${'x'.repeat(240_000)}\n`,
  '/Backups/db-2026-11-21.sql': `-- ${'x'.repeat(251_000)}\n`,
  '/Team handbook.md': `# Handbook\n\n${'Welcome to the team. '.repeat(900)}`,
  '/Invoice 2026-11.pdf': `%PDF-1.4\n${'x'.repeat(84_000)}`,
  '/release-video.mp4': 'x'.repeat(3_400_000),
}

const home = await mkdtemp(join(tmpdir(), 'stowage-screenshots-'))
const server = spawn(process.execPath, [main], {
  cwd: home,
  env: { PATH: process.env.PATH, PORT: '0', LOG_LEVEL: 'warn' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const url = await listening()
  const token = await createWorkspace(url)
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: flags })
  try {
    const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 720 } })
    await context.addCookies([{ name: 'stowage_session', value: token, url, httpOnly: true, sameSite: 'Strict' }])
    const page = await context.newPage()
    await capture(page)
  } finally {
    await browser.close()
  }
} finally {
  server.kill('SIGTERM')
  if (server.exitCode === null) await once(server, 'exit')
  await rm(home, { recursive: true, force: true })
}

async function capture(page: Page): Promise<void> {
  const shoot = async (name: string) => {
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: join(images, `${name}.png`) })
  }
  await page.goto('/files')
  await page.getByRole('link', { name: 'Team disk' }).first().click()
  await page.getByText('release-video.mp4').waitFor()
  await shoot('files')
  await page.goto('/settings/api-keys')
  await page.getByText('Nightly backup').waitFor()
  await shoot('api-keys')
}

/** Resolves with the server's address once it is ready. */
async function listening(): Promise<string> {
  let output = ''
  const timeout = AbortSignal.timeout(startTimeout)
  for await (const [chunk] of streamOf(timeout)) {
    output += chunk
    const url = /ready at (http\S+)/.exec(output)?.[1]
    if (url) return url
  }
  throw new Error(`The server did not start: ${output}`)
}

async function* streamOf(signal: AbortSignal): AsyncGenerator<[string]> {
  for (;;) {
    const [chunk] = await once(server.stdout, 'data', { signal })
    yield [String(chunk)]
  }
}

/** Registers an owner, connects a disk with the example files, and creates a key. Resolves with a session token. */
async function createWorkspace(url: string): Promise<string> {
  let token = ''
  const ask = async (query: string, variables: object) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = await response.json()
    if (errors) throw new Error(JSON.stringify(errors))
    return data
  }
  const account = { email: 'ada@example.org', password: 'a long example password' }
  const { register } = await ask('mutation ($input: RegisterInput!) { register(input: $input) { token } }', {
    input: account,
  })
  token = register.token
  const { connectProvider } = await ask(
    'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }',
    { input: { type: 'local', name: 'Team disk', config: {} } },
  )
  const providerId = connectProvider.provider.id
  for (const [path, body] of Object.entries(files)) {
    const query = new URLSearchParams({ providerId, path })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
    const response = await fetch(`${url}/api/upload/proxy?${query}`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(await response.text())
  }
  await ask('mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }', {
    input: {
      name: 'Nightly backup',
      scopes: ['write'],
      providerAccess: { restrictions: [{ providerId, basePath: '/Backups' }] },
    },
  })
  return token
}
