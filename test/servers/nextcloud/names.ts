import { refusedByVendor } from './errors.ts'

/** Names that Nextcloud refuses (lib/private/Files/FilenameValidator.php). */
export function isForbidden(name: string): boolean {
  const trimmed = name.trim()
  return (
    ['', '.', '..'].includes(trimmed) ||
    Buffer.byteLength(name) > 250 ||
    name.toLowerCase() === '.htaccess' ||
    /\.(?:file)?part$/i.test(name) ||
    [...name].some(character => character < ' ' || character === '\\')
  )
}

/** @throws InvalidPath */
export function requireAllowed(names: readonly string[]): void {
  if (names.some(isForbidden)) throw refusedByVendor('InvalidPath', 'File name is not allowed')
}
