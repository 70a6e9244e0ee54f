/** Opens the console in Chromium. */
import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import root, { type Test } from 'tap'
import { consoleFolder } from '../../src/endpoints/console/pages.ts'
import { findProgram, requirePrograms } from '../servers/programs.ts'
import type { TestApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { extent } from '../support/extent.ts'

const needed = {
  who: 'The tests of the console',
  programs: ['chromium-headless-shell'],
  packages: ['chromium-headless-shell'],
  instead: 'put it on PATH',
}

/** Most of these flags stop Chromium from sending requests of its own. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The minified script, which a page loads in half the time. */
const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let launching: Promise<Browser> | undefined

/** Launches one browser for all tests of a file. */
function launch(executablePath: string): Promise<Browser> {
  launching ??= chromium.launch({ executablePath, args: flags }).then(browser => {
    root.teardown(() => browser.close())
    return browser
  })
  return launching
}

/**
 * Returns the browser of this file, whose windows close with `t`. Without Chromium, `t` is skipped and the result is null; in
 * CI, Chromium is installed instead. @throws Error if the installation fails or the console is not built
 */
export async function startBrowser(t: Test): Promise<Browser | null> {
  const isBuilt = await stat(join(consoleFolder, 'index.html')).catch(() => null)
  if (!isBuilt) throw new Error('The console is not built: run "npm run build:console" first.')
  if (process.env.CI) await requirePrograms(needed)
  const executablePath = await findProgram('chromium-headless-shell')
  if (executablePath === null) {
    t.plan(
      0,
      'NOT TESTED: the console, because Chromium is missing. Put "chromium-headless-shell" on PATH (Debian: apt-get install chromium-headless-shell).',
    )
    return null
  }
  const browser = await launch(executablePath)
  t.teardown(() => Promise.all(browser.contexts().map(context => context.close())))
  return browser
}

export interface Visit extends Page {
  /** Script errors, and everything that the content security policy blocked. */
  faults: string[]
}

/**
 * Opens a new window, signed in with `token` or signed out without one. Locators and pages wait for a minute, because other test files
 * use the processors at the same time.
 */
export async function visit(
  browser: Browser,
  app: Pick<TestApp, 'url'>,
  options: BrowserContextOptions & { token?: string } = {},
): Promise<Visit> {
  const { token, ...contextOptions } = options
  const context = await browser.newContext({
    baseURL: app.url,
    viewport: { width: 1280, height: 800 },
    acceptDownloads: true,
    // Each frame of an animation takes processor time, and clicks wait for its end.
    reducedMotion: extent({ gate: 'reduce', nightly: 'no-preference' }),
    // Each window would load the files of the page once more. The tests of the worker allow it.
    serviceWorkers: 'block',
    ...contextOptions,
  })
  context.setDefaultTimeout(60_000)
  if (token !== undefined) {
    const cookie = { name: 'stowage_session', value: token, url: app.url, httpOnly: true, sameSite: 'Strict' } as const
    await context.addCookies([cookie])
  }
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', error => faults.push(String(error)))
  page.on('console', message => {
    if (/Content Security Policy|React|Warning:/.test(message.text())) faults.push(message.text())
  })
  return Object.assign(page, { faults })
}

/** Starts a session of an account and returns its token. */
export async function signIn(app: TestApp, email: string): Promise<string> {
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  return (await app.ask(login, { input: { email, password } })).login.token
}

let looks = 0

/**
 * Checks the accessibility of a page. axe takes most of the time of these tests, so `npm test` runs it on every sixteenth page.
 */
export async function isAccessible(t: Test, page: Page, what: string): Promise<void> {
  if (!extent({ gate: looks++ % 16 === 0, nightly: true })) return
  // Text that is still fading in has too little contrast.
  await page.evaluate(async () => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
    await Promise.allSettled(ending.map(({ finished }) => finished))
  })
  t.same(await axeViolations(page), [], `axe: ${what}`)
}

/** Returns the accessibility violations that axe finds, one line for each element. */
async function axeViolations(page: Page): Promise<string[]> {
  // The debugger evaluates the script, so the content security policy of the page does not apply.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    // All rules run. What passes is as long as the page, and takes most of the time to describe and to transfer.
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.flatMap(({ id, help, nodes }) => nodes.map(node => `${id}: ${help} (${node.html})`))
  })
}

/** Returns a function that limits the upload speed of the page, in bytes per second; -1 removes the limit. */
export async function uploadThrottle(page: Page): Promise<(uploadThroughput: number) => Promise<void>> {
  const network = await page.context().newCDPSession(page)
  const others = { offline: false, latency: 0, downloadThroughput: -1 }
  return async uploadThroughput => {
    await network.send('Network.emulateNetworkConditions', { ...others, uploadThroughput })
  }
}
