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
import sharp from 'sharp'

const images = new URL('../docs/images/', import.meta.url).pathname
const main = new URL('../src/main.ts', import.meta.url).pathname
/** Milliseconds. The first start creates a database. */
const startTimeout = 60_000
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-sync']

/** The names of the photos. Each photo is a landscape in colors of its own. */
const scenes = ['harbor', 'dunes', 'ridge', 'lake', 'meadow', 'coast', 'valley', 'island']

const texts: Record<string, string> = {
  '/Projects/Atlas/plan.md': '# Atlas\n\n- Collect requirements\n- Build the first version\n- Ship it\n',
  '/Projects/Atlas/budget.csv': 'item,cost\ndesign,1200\nbuild,4800\n',
  '/Projects/Atlas/notes.txt': 'Call the printer before Friday.\n',
  '/Projects/Borealis/readme.md': '# Borealis\n',
  '/Backups/db-2026-11-20.sql': `-- ${'x'.repeat(240_000)}\n`,
  '/Backups/db-2026-11-21.sql': `-- ${'x'.repeat(251_000)}\n`,
  '/Budget 2027.xlsx': 'x'.repeat(48_000),
  '/Brand fonts.zip': 'x'.repeat(912_000),
  '/Kickoff.pptx': 'x'.repeat(2_100_000),
  '/Logo.psd': 'x'.repeat(1_800_000),
  '/Offer Meyer.docx': 'x'.repeat(64_000),
  '/Team handbook.md': `# Handbook\n\n${'Welcome to the team. '.repeat(900)}`,
  '/Invoice 2026-11.pdf': `%PDF-1.4\n${'x'.repeat(84_000)}`,
  '/Interview.mp3': 'x'.repeat(4_700_000),
  '/deploy.ts': 'export const regions = ["eu", "us"]\n',
  '/release-video.mp4': 'x'.repeat(3_400_000),
}

async function landscape(index: number): Promise<Buffer> {
  const hue = [205, 24, 265, 195, 340, 220, 38, 180][index % 8] ?? 205
  const hill = (base: number, height: number, light: number) =>
    `<path d="M0 ${base} C 220 ${base - height}, 420 ${base + height / 2}, 640 ${base - height / 2} S 900 ${base}, 960 ${base - height / 3} V640 H0z" fill="hsl(${140 + ((index * 29) % 90)},30%,${light}%)"/>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="640"><defs><linearGradient id="s" x2="0" y2="1"><stop stop-color="hsl(${hue},62%,58%)"/><stop offset="1" stop-color="hsl(${(hue + 40) % 360},78%,86%)"/></linearGradient></defs><rect width="960" height="640" fill="url(#s)"/><circle cx="${180 + ((index * 211) % 600)}" cy="170" r="54" fill="hsl(45,95%,88%)"/>${hill(420, 90, 46)}${hill(500, 60, 34)}${hill(580, 40, 22)}</svg>`
  return sharp(Buffer.from(svg)).jpeg({ quality: 82 }).toBuffer()
}

const photos = await Promise.all(
  scenes.map(async (name, index) => [`/Photos/${name}.jpg`, await landscape(index)] as const),
)
/** The files in the order of their uploads, so that the last ones are the newest. */
const files: readonly (readonly [path: string, body: string | Buffer])[] = [
  ...Object.entries(texts),
  ...photos,
  ['/Projects/Atlas/sketch.jpg', await landscape(11)],
]

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
    const context = await browser.newContext({
      baseURL: url,
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
    })
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
  await page.getByRole('list', { name: 'Recent' }).locator('img.loaded').nth(3).waitFor({ timeout: startTimeout })
  await shoot('home')
  await page.getByRole('link', { name: 'Team disk' }).first().click()
  await page.getByRole('grid').getByText('release-video.mp4').waitFor()
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
  const account = { email: 'ada@example.org', name: 'Ada', password: 'a long example password' }
  const { register } = await ask('mutation ($input: RegisterInput!) { register(input: $input) { token } }', {
    input: account,
  })
  token = register.token
  const { connectProvider } = await ask(
    'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }',
    { input: { type: 'local', name: 'Team disk', config: {} } },
  )
  const providerId = connectProvider.provider.id
  for (const [path, body] of files) {
    const query = new URLSearchParams({ providerId, path })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
    const response = await fetch(`${url}/api/upload/proxy?${query}`, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : new Uint8Array(body),
    })
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
