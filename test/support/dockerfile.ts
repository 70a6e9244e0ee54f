/** Runs the steps of a Dockerfile without Docker, with a folder for each stage. */
import { cp, mkdir, readFile, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'

interface Instruction {
  /** Upper case. */
  name: string
  text: string
}

export interface Stage {
  name: string
  instructions: Instruction[]
}

/** Parses the stages in order, without replacing ARG values. @throws Error for an unsupported instruction */
export function parseDockerfile(text: string): Stage[] {
  const lines = text.replace(/\\\n/g, ' ').split('\n')
  const stages: Stage[] = []
  for (const line of lines.filter(line => line.trim() !== '' && !line.startsWith('#'))) {
    const [, name, rest] = /^([A-Z]+) +(.+)$/.exec(line) ?? []
    if (name === undefined || rest === undefined) throw new Error(`no instruction: ${line}`)
    if (name === 'FROM') stages.push({ name: / AS (\S+)$/.exec(rest)?.[1] ?? '', instructions: [] })
    else if (name !== 'ARG') stages.at(-1)?.instructions.push({ name, text: rest })
  }
  return stages
}

/** Returns the texts of all instructions with this name. */
export function all(stage: Stage, name: string): string[] {
  return stage.instructions.filter(instruction => instruction.name === name).map(({ text }) => text)
}

/** Returns the variables of all `ENV` lines. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = all(stage, 'ENV').flatMap(text => text.split(/ +/))
  return Object.fromEntries(pairs.map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

/**
 * Parses the exec form `CMD ["node", "main.js"]`, even after HEALTHCHECK's options. @throws Error for the shell form
 */
export function execForm(text: string): [string, ...string[]] {
  return JSON.parse(/\[.*\]$/.exec(text)?.[0] ?? 'null')
}

interface Build {
  /** The folder that `COPY` without `--from` reads. */
  context: string
  /** Returns the folder that is the `/` of a stage. */
  folderOf(stage: string): string
  /** Runs a RUN line in the working folder. */
  run(line: string, workingFolder: string): Promise<void>
}

export async function carryOut(stage: Stage, build: Build): Promise<void> {
  const root = build.folderOf(stage.name)
  let workingFolder = root
  for (const { name, text } of stage.instructions) {
    if (name === 'WORKDIR') {
      workingFolder = join(root, text)
      await mkdir(workingFolder, { recursive: true })
    } else if (name === 'COPY') await copy(text, workingFolder, build)
    else if (name === 'RUN') await build.run(text, workingFolder)
  }
}

async function copy(text: string, workingFolder: string, { context, folderOf }: Build): Promise<void> {
  const words = text.split(/ +/)
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined
  if (words.some(word => word.startsWith('--'))) throw new Error(`unsupported option: COPY ${text}`)
  const target = join(workingFolder, words.pop() ?? '')
  const source = from === undefined ? context : folderOf(from)
  const sources = words.length === 1 && words[0] === '.' ? await contextEntries(context) : words
  for (const word of sources) {
    if (from === undefined && !isWithinContext(word, await contextEntries(context))) {
      throw new Error(`.dockerignore excludes ${word}`)
    }
    const isFolder = words.length > 1 || words[0] === '.' || target.endsWith('/')
    const into = words[0] === '.' ? join(target, word) : isFolder ? join(target, basename(word)) : target
    // No later step reads the source stage, and a move is faster than a copy.
    if (from !== undefined) await rename(join(source, word.replace(/^\//, '')), into)
    else await cp(join(source, word), into, { recursive: true, verbatimSymlinks: true })
  }
}

/** Returns the paths that .dockerignore includes. It must exclude everything and list exceptions. */
async function contextEntries(context: string): Promise<string[]> {
  const lines = (await readFile(join(context, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
  if (lines.shift() !== '*' || lines.some(line => !line.startsWith('!')))
    throw new Error('.dockerignore must start with * and list only exceptions')
  return lines.map(line => line.slice(1))
}

function isWithinContext(path: string, entries: readonly string[]): boolean {
  return entries.some(entry => path === entry || path.startsWith(`${entry}/`))
}
