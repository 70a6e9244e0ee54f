import fc from 'fast-check'
import t from 'tap'
import { networkOf } from '../../src/auth/network.ts'

const group = fc.integer({ min: 0, max: 0xffff })
const groups = fc.array(group, { minLength: 8, maxLength: 8 })
const full = (address: readonly number[]) => address.map(each => each.toString(16)).join(':')
/** Formats an address according to RFC 5952. */
const short = (address: readonly number[]) => new URL(`http://[${full(address)}]`).hostname.slice(1, -1)

t.test('every spelling of an IPv6 address is mapped to its network of 64 bits', async () => {
  fc.assert(
    fc.property(groups, groups, fc.boolean(), (one, other, isSparse) => {
      const address = isSparse ? one.map((each, index) => (index % 3 === 0 ? each : 0)) : one
      // The first 80 bits of an IPv4 address in IPv6 form are zero.
      address[0] = (address[0] ?? 0) || 0x2001
      const neighbor = [...address.slice(0, 4), ...other.slice(4)]
      const expected = `${full(address.slice(0, 4))}::/64`
      for (const text of [full(address), short(address), short(address).toUpperCase(), short(neighbor)]) {
        if (networkOf(text) !== expected) return false
      }
      return address[3] === other[3] || networkOf(short([...address.slice(0, 3), ...other.slice(3)])) !== expected
    }),
  )
})

t.test('an IPv4 address in IPv6 form is the same address', async () => {
  fc.assert(
    fc.property(fc.ipV4(), text => {
      const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
      const hex = `::ffff:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
      return [text, `::ffff:${text}`, hex].every(form => networkOf(form) === text)
    }),
  )
})

t.test('any address from a proxy is cut to a short text', async () => {
  fc.assert(fc.property(fc.string({ maxLength: 200 }), text => networkOf(text).length <= 45))
})
