import { command } from '../command.ts'
import { CommandError } from '../errors.ts'
import { exitCodes } from '../exit-code.ts'
import { parseRemote } from '../operand.ts'
import { confirm } from '../terminal/prompt.ts'
import { yesOption } from '../transfer/options.ts'

const document = 'mutation Empty($providerId: ID!) { emptyTrash(providerId: $providerId) }'

export const trashEmpty = command({
  name: 'trash empty',
  operands: '<storage>',
  help: 'Delete everything in the trash of a storage for good. Asks before, and without a terminal needs --yes.',
  options: yesOption,
  async run({ output, connect }, { operands: [text = ''], options: { yes } }) {
    const operand = parseRemote(text)
    const server = await connect()
    const { storage, providerId } = await server.locate(operand)
    const question = `Delete everything in the trash of ${storage.name} permanently?`
    const isConfirmed = yes || (await confirm(output, question))
    if (!isConfirmed) throw new CommandError('Nothing was deleted.', 'NOT_CONFIRMED', exitCodes.usage.code)
    await server.graphql(document, { providerId })
    output.note(`The trash of ${storage.name} is empty.`)
  },
})
