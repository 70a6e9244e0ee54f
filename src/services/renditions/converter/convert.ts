/**
 * Makes a PDF document of an office document with LibreOffice, which gets a home of its own that is removed afterwards. Documents can
 * name other files and servers: its settings refuse them, and where the system allows it, it has no network at all.
 */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Original, readWhole } from '../../decoding/original.ts'
import { runProgram } from '../../decoding/programs.ts'
import { type ConvertTask, maxOriginal, maxRendition } from './protocol.ts'

/** Kilobytes of the address space of LibreOffice. */
const maxMemory = 4 * 1024 * 1024
/** Seconds of processor time. */
const maxTime = 80
/** Blocks of 512 bytes of a file that it writes. */
const maxFile = (2 * maxRendition) / 512
const maxPages = 500
/** Bytes of what it reports. */
const maxOutput = 64 * 1024

/** The beginnings of the formats: ZIP, the compound files of Microsoft Office, and RTF. */
const beginnings = ['504b0304', 'd0cf11e0a1b11ae1', '7b5c727466'].map(hex => Buffer.from(hex, 'hex'))

/** The export filter of the application that opens a format. */
const filters: Readonly<Record<string, string>> = { d: 'writer', r: 'writer', o: 'writer', x: 'calc', p: 'impress' }

function filterOf(extension: string): string {
  if (/^o[td]s$/.test(extension)) return 'calc'
  if (/^o[td]p$/.test(extension)) return 'impress'
  return filters[extension.charAt(0)] ?? 'writer'
}

/** @throws ReadCanceled; Error if the file is no office document, damaged, encrypted or too large */
export async function convert(original: Original, task: ConvertTask): Promise<Uint8Array> {
  const { folder, soffice, unshare, extension } = task
  const bytes = await readWhole(original, maxOriginal)
  if (!beginnings.some(beginning => Buffer.compare(bytes.subarray(0, beginning.length), beginning) === 0)) {
    throw new Error('The file is no office document.')
  }
  const profile = join(folder, 'profile')
  await mkdir(join(profile, 'user'), { recursive: true, mode: 0o700 })
  await writeFile(join(profile, 'user/registrymodifications.xcu'), settings)
  const source = join(folder, `document.${extension}`)
  await writeFile(source, bytes, { flag: 'wx', mode: 0o600 })
  const pages = JSON.stringify({ PageRange: { type: 'string', value: `1-${maxPages}` } })
  const env = { HOME: folder, TMPDIR: folder, PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' }
  const isolated = unshare !== null && (await canIsolate(unshare)) ? [unshare, ...isolation] : []
  const office = `--headless --norestore --nolockcheck --nodefault --nologo -env:UserInstallation=${pathToFileURL(profile)}`
  await runProgram(
    '/bin/sh',
    [
      '-c',
      `ulimit -v ${maxMemory}; ulimit -t ${maxTime}; ulimit -f ${maxFile}; ulimit -c 0; exec "$0" "$@"`,
      ...isolated,
      soffice,
      ...office.split(' '),
      '--convert-to',
      `pdf:${filterOf(extension)}_pdf_Export:${pages}`,
      '--outdir',
      join(folder, 'out'),
      source,
    ],
    { maxOutput, env },
  )
  const target = join(folder, 'out/document.pdf')
  if ((await stat(target)).size > maxRendition) throw new Error('The rendition is too large.')
  return readFile(target)
}

/** Without a network, and as the same user. */
const isolation = ['--user', '--map-current-user', '--net', '--']

let isolating: Promise<boolean> | undefined

/** Returns whether the system lets this process start another one without a network. */
function canIsolate(unshare: string): Promise<boolean> {
  isolating ??= runProgram(unshare, [...isolation, '/bin/echo', 'yes'], { maxOutput: 100 }).then(
    () => true,
    () => false,
  )
  return isolating
}

const setting = (path: string, name: string, value: string | number | boolean) =>
  `<item oor:path="/org.openoffice.${path}"><prop oor:name="${name}" oor:op="fuse"><value>${value}</value></prop></item>`

/**
 * No macros, no links to other files, no objects that run, and a proxy that does not exist for everything that would still ask a server
 * (the schemas of officecfg in the sources of LibreOffice).
 */
const settings = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
${[
  setting('Office.Common/Security/Scripting', 'MacroSecurityLevel', 3),
  setting('Office.Common/Security/Scripting', 'DisableMacrosExecution', true),
  setting('Office.Common/Security/Scripting', 'BlockUntrustedRefererLinks', true),
  setting('Office.Common/Security/Scripting', 'DisableActiveContent', true),
  setting('Office.Common/Security/Scripting', 'DisableOLEAutomation', true),
  setting('Office.Common/Misc', 'FirstRun', false),
  setting('Office.Calc/Content/Update', 'Link', 1),
  setting('Office.Writer/Content/Update', 'Link', 0),
  setting('Inet/Settings', 'ooInetProxyType', 2),
  ...['HTTP', 'HTTPS', 'FTP'].flatMap(protocol => [
    setting('Inet/Settings', `ooInet${protocol}ProxyName`, '127.0.0.1'),
    setting('Inet/Settings', `ooInet${protocol}ProxyPort`, 9),
  ]),
].join('\n')}
</oor:items>
`
