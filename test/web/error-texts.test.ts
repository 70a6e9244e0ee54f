import t from 'tap'
import { reasons } from '../../src/errors.ts'
import { errorText } from '../../web/src/texts/errors.ts'

t.test('people read about storages, never about providers', async t => {
  for (const [reason, { meaning }] of Object.entries(reasons)) {
    t.notMatch(errorText({ reason, message: meaning }), /provider/i, reason)
  }
  t.equal(errorText({ reason: 'ALREADY_EXISTS', message: 'The name is taken.' }), 'The name is taken.')
})
