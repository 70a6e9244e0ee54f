/** The groups of an IPv6 address that identify the assigned network: the first 64 bits. */
const networkGroups = 4
const groupsOfAddress = 8
/** The length of the longest textual form of an address. A proxy may send any longer text. */
const maxLength = 45

/**
 * Returns what counts as one client: an IPv4 address, or an IPv6 network of 64 bits, because one client usually controls
 * all of its addresses (RFC 6177, section 2). An IPv4 address in IPv6 form (RFC 4291, section 2.5.5.2) is the IPv4 address.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address.slice(0, maxLength)
  const groups = expand(address.slice(0, maxLength))
  if (groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff) {
    return [groups[6] ?? 0, groups[7] ?? 0].flatMap(group => [group >> 8, group & 0xff]).join('.')
  }
  const network = groups.slice(0, networkGroups).map(group => group.toString(16))
  return `${network.join(':')}::/64`
}

function expand(address: string): number[] {
  const [head = [], tail] = address.split('::', 2).map(groupsOf)
  if (!tail) return groupsOf(address)
  const zeros = Math.max(0, groupsOfAddress - head.length - tail.length)
  return [...head, ...Array.from({ length: zeros }, () => 0), ...tail]
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap(group => {
    if (!group.includes('.')) return [Number.parseInt(group, 16) & 0xffff]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [((a << 8) | b) & 0xffff, ((c << 8) | d) & 0xffff]
  })
}
