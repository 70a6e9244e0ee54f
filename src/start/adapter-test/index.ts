/** Implements `stowage adapter test`: runs the conformance kit against the back end of a configuration. */
import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { conformanceCases, type Harness } from '../../../adapters/conformance/index.ts'
import { builtInAdapters } from '../../../adapters/index.ts'
import { StartError } from '../../errors.ts'
import type { Settings } from '../../settings/index.ts'
import { type Adapter, builtInAdapter, loadAdapter, reasonIn } from '../../storage/registry.ts'
import { harnessFor } from './harness.ts'
import type { AdapterTestRequest } from './request.ts'

/** Returns whether all cases passed. @throws StartError, AppError if the back end cannot be opened */
export async function testAdapter(
  request: AdapterTestRequest,
  settings: Settings,
  print: (line: string) => void,
): Promise<boolean> {
  const adapter = await findAdapter(request.adapter, settings)
  const harness = { ...harnessFor(adapter, await readConfig(request.configFile), request), ...request.properties }
  await tryToOpen(harness)
  const counts = { passed: 0, failed: 0, skipped: 0 }
  // One at a time: some cases measure memory, and all may use one folder.
  for (const { name, run } of conformanceCases(harness)) {
    if (request.only !== null && !name.includes(request.only)) continue
    const { outcome, line } = await runCase(name, run)
    counts[outcome] += 1
    print(line)
  }
  const { passed, failed, skipped } = counts
  const ran = passed + failed
  if (ran + skipped === 0) throw new StartError('No case has run: choose another text for --only.')
  print(`${adapter.definition.type} passes conformance ${passed} of ${ran} (${skipped} skipped)`)
  if (request.badgeFile !== null) await writeFile(request.badgeFile, badge(counts))
  return failed === 0
}

async function runCase(name: string, run: () => Promise<{ skipped?: string }>) {
  const began = performance.now()
  const time = () => `${((performance.now() - began) / 1000).toFixed(1)} s`
  try {
    const { skipped } = await run()
    if (skipped !== undefined) return { outcome: 'skipped', line: `- ${name}: needs ${skipped}` } as const
    return { outcome: 'passed', line: `✓ ${name} (${time()})` } as const
  } catch (error) {
    return {
      outcome: 'failed',
      line: `✗ ${name} (${time()})\n    ${messageOf(error).replaceAll('\n', '\n    ')}`,
    } as const
  }
}

/** @throws StartError */
async function findAdapter(name: string, settings: Settings): Promise<Adapter> {
  const definition = builtInAdapters(settings).find(({ type }) => type === name)
  if (definition) return builtInAdapter(definition)
  try {
    return await loadAdapter(/^[./]/.test(name) ? pathToFileURL(resolve(name)).href : name)
  } catch (cause) {
    throw new StartError(`The adapter "${name}" cannot be used: ${reasonIn(cause)}.`, { cause })
  }
}

async function readConfig(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(cause => {
    throw new StartError(`The configuration cannot be read: ${messageOf(cause)}`, { cause })
  })
  try {
    JSON.parse(text)
    return text
  } catch (cause) {
    throw new StartError(`The configuration in ${file} is not JSON: ${messageOf(cause)}`, { cause })
  }
}

/** Without this, every case would fail for the same reason. @throws StartError, AppError */
async function tryToOpen({ open }: Harness): Promise<void> {
  try {
    const provider = await open()
    await provider.close?.()
  } catch (error) {
    if (error instanceof Error && error.name === 'StorageError') throw new StartError(error.message, { cause: error })
    throw error
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const green = '#2e7d32'
const red = '#c62828'
/** The width of a letter in pixels. Fonts differ, so `textLength` stretches each text to the computed width. */
const letter = 6.6
const margin = 8

/** Returns an SVG image for a README: "conformance | 78 of 78". */
export function badge({ passed, failed }: { passed: number; failed: number }): string {
  const [title, result] = ['conformance', `${passed} of ${passed + failed}`]
  const [left, right] = [widthOf(title), widthOf(result)]
  const texts = [textAt(title, 0), textAt(result, left)].join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${title}: ${result}">
<rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${failed ? red : green}"/>
<g fill="#fff" font-family="Verdana, sans-serif" font-size="11">${texts}</g>
</svg>
`
}

function widthOf(text: string): number {
  return Math.ceil(text.length * letter) + 2 * margin
}

function textAt(text: string, x: number): string {
  return `<text x="${x + margin}" y="14" textLength="${widthOf(text) - 2 * margin}">${text}</text>`
}
