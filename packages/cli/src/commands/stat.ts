import { command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import { display, type RemoteEntry } from '../remote/server.ts'

const fields = ['kind', 'name', 'path', 'size', 'modifiedAt', 'mimeType', 'etag', 'checksums'] as const

export const stat = command({
  name: 'stat',
  operands: '<path>...',
  help: 'Print the size, time, type and checksums of files and folders.',
  options: {},
  json: { entry: fields },
  async run({ output, connect, signal }, { operands }) {
    const paths = operands.map(parseRemote)
    const server = await connect()
    const found = await Promise.all(
      paths.map(async operand => {
        const path = await server.locate(operand)
        return { path, entry: await server.stat(path).catch((error: unknown) => ({ error })) }
      }),
    )
    signal.throwIfAborted()
    for (const { path, entry } of found) {
      if ('error' in entry) output.failure(entry.error, display(path))
      else await output.result(record(entry), ...lines(display(path), entry))
    }
  },
})

function record({ kind, name, path, size, modifiedAt, mimeType, etag, checksums }: RemoteEntry) {
  const entry = { kind, name, path, size, modifiedAt, mimeType, etag, checksums }
  return entry satisfies Record<(typeof fields)[number], unknown>
}

function lines(path: string, { kind, size, modifiedAt, mimeType, etag, checksums }: RemoteEntry): string[] {
  const facts: [string, string | number | null][] = [
    ['path', path],
    ['kind', kind],
    ['size', size],
    ['modified', modifiedAt],
    ['type', mimeType],
    ['etag', etag],
    ...checksums.map(({ algorithm, hex }): [string, string] => [algorithm, hex]),
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [`${`${name}:`.padEnd(10)}${value}`]))
}
