import t from 'tap'
import { isForbidden } from '../servers/nextcloud/names.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { nextcloud } from './cloud-back-ends.ts'
import { namesOthersGive } from './corpus.ts'

const isStorable = (name: string) => !isForbidden(name) && name === name.normalize('NFC')
attackBackEnd(t, 'Nextcloud', nextcloud, { every: 4, names: namesOthersGive.filter(isStorable) })
