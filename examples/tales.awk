# tales.awk -- a corpus of small tales, half of them English, half Chinese.
# SPDX-License-Identifier: Apache-2.0
#
#   awk -f tales.awk [-v tales=12000] [-v seed=1] > tales.jsonl
#
# One JSON object a line: {"text": "..."}.  The same arguments give the same bytes with any awk:
# random numbers are our own, and text is only split at "|" and joined.
#
# A tale has a hero, a friend, a place and one of eight plots.  What is said of them depends on
# who they are (a bird looks from the sky, a mouse creeps into holes) and on what happened before
# (the kite that is found is the kite that was lost), so that a model has something to learn
# beyond the order of words; the words themselves are few, so that a small model can.

# ---- chance ----

# The minimal standard generator of Park and Miller (1988): exact in double arithmetic.
function chance(n)
{
  state = (state * 16807) % 2147483647
  return int(state / 2147483647 * n)
}

# One of the alternatives in LIST, "a|b|c".
function pick(list,    part, n)
{
  n = split(list, part, "|")
  return part[1 + chance(n)]
}

# Fill TABLE[NAME, 1..n, field] from ROWS, fields split at "|"; count[NAME] = n.
function table(name, rows,    row, field, n, m, i, k)
{
  n = split(rows, row, "\n")
  for (i = 1; i <= n; i++)
    {
      m = split(row[i], field, "|")
      for (k = 1; k <= m; k++)
        T[name, i, k] = field[k]
    }
  count[name] = n
}

function any(name) { return 1 + chance(count[name]) }

# ---- the world ----

function make_world()
{
  # English, Chinese with its measure word, how it searches in English and in Chinese.
  table("animal", \
    "fox|一只|狐狸|followed the tracks on the ground|跟着地上的脚印走\n" \
    "bear|一只|小熊|lifted all the heavy stones|搬开了所有的大石头\n" \
    "rabbit|一只|兔子|hopped through the tall grass|在高高的草丛里跳来跳去\n" \
    "cat|一只|小猫|looked into every dark corner|看遍了每一个黑暗的角落\n" \
    "dog|一只|小狗|sniffed along the road|沿着大路闻了又闻\n" \
    "bird|一只|小鸟|flew up and looked down from the sky|飞到天上往下看\n" \
    "duck|一只|鸭子|swam all around the pond|在池塘里游了一圈\n" \
    "mouse|一只|老鼠|crept into the smallest holes|钻进了最小的洞里\n" \
    "monkey|一只|猴子|climbed the tallest trees|爬上了最高的树\n" \
    "turtle|一只|乌龟|walked slowly and looked carefully|慢慢地走，仔细地看\n" \
    "frog|一只|青蛙|jumped from stone to stone|从一块石头跳到另一块石头\n" \
    "squirrel|一只|松鼠|ran up and down the trees|在树上跑上跑下\n" \
    "hedgehog|一只|刺猬|rolled over the dry leaves|在落叶上滚来滚去\n" \
    "pony|一匹|小马|ran all around the hill|绕着小山跑了一圈\n" \
    "elephant|一头|小象|moved the old logs away|把旧木头都搬开了\n" \
    "owl|一只|猫头鹰|looked around with big bright eyes|睁大明亮的眼睛四处看")
  table("place", "in a green forest|绿色的森林里\nby a quiet river|安静的小河边\n" \
    "on a high hill|高高的山上\nin a small village|一个小村庄里\nin a big garden|一个大花园里\n" \
    "by the blue sea|蓝色的大海边\nnear an old bridge|一座旧桥旁边\nin a warm valley|温暖的山谷里")
  table("trait", "kind|善良\nbrave|勇敢\nclever|聪明\nshy|害羞\nhappy|快乐\ncurious|好奇\n" \
    "quiet|安静\nfunny|有趣")
  table("hobby", "singing songs|唱歌\npainting pictures|画画\ncounting the stars|数星星\n" \
    "reading books|看书\nlooking at the clouds|看天上的云\ntelling stories|讲故事\n" \
    "picking flowers|采花\ndancing in the rain|在雨中跳舞")
  table("weather", "sunny|阳光明媚\nwindy|刮着大风\nrainy|下着小雨\nsnowy|下着大雪\nwarm|暖洋洋\n" \
    "cold|冷冰冰")
  table("color", "red|红色\nblue|蓝色\nyellow|黄色\ngreen|绿色\nwhite|白色\npurple|紫色")
  table("thing", "kite|风筝\nball|球\nhat|帽子\ndrum|小鼓\nlantern|灯笼\nbell|铃铛\nbook|书\n" \
    "scarf|围巾\ntoy boat|玩具船\nkey|钥匙")
  table("spot", "under the bridge|桥下面\nbehind a big stone|一块大石头后面\n" \
    "in a tall tree|一棵大树上\nnear the old well|老井旁边\nin the long grass|草丛里\n" \
    "inside an empty log|空心的木头里\nbeside the path|小路旁边\nat the foot of the hill|山脚下")
  table("food", "apple pie|苹果派\nberry jam|浆果酱\nwarm soup|热汤\nfresh bread|新鲜的面包\n" \
    "honey cakes|蜂蜜蛋糕\ndumplings|饺子\nnoodles|面条\nroasted nuts|香香的烤坚果")
  table("skill", "swim|游泳\nsing|唱歌\ndance|跳舞\nwhistle|吹口哨\nskate|滑冰\nrow a boat|划船\n" \
    "read|读书\ncook|做饭")
  table("plant", "sunflower|向日葵\npumpkin|南瓜\nrose|玫瑰\napple tree|苹果树\ntomato|西红柿\n" \
    "melon|西瓜")
  # What happened, the help, in English and Chinese.
  table("trouble", \
    "had fallen into a deep hole|threw down a long rope|掉进了一个深坑|放下了一根长长的绳子\n" \
    "was stuck in the mud|held out a strong branch|陷在了泥里|伸出了一根结实的树枝\n" \
    "was caught in a net|bit through the net|被网缠住了|咬断了网\n" \
    "was lost in the fog|rang a bell to show the way|在大雾里迷了路|摇响铃铛指路\n" \
    "could not get down from a tall tree|brought a long ladder|从大树上下不来|搬来了一把长梯子\n" \
    "was carried away by the river|pushed a log into the water|被河水冲走了|把一根木头推进了水里")
  table("fear", "the dark|lit a small lantern|天黑|点亮了一盏小灯笼\n" \
    "thunder|sang a soft song|打雷|唱起了轻轻的歌\n" \
    "the deep water|held out a hand|深水|伸出了手\n" \
    "the strong wind|closed all the windows|大风|关上了所有的窗户\n" \
    "strange noises|went out to look|奇怪的声音|出去看了看")
  table("work", "bridge|stones and wood|cross the river|一座桥|石头和木头|过河\n" \
    "house|clay and straw|stay warm in winter|一座房子|泥土和稻草|温暖地过冬\n" \
    "boat|wood and rope|sail on the lake|一条船|木头和绳子|在湖上航行\n" \
    "swing|rope and a board|play every day|一个秋千|绳子和木板|每天玩耍\n" \
    "snowman|snow and a carrot|laugh together|一个雪人|雪和胡萝卜|一起欢笑")
}

# Choose who, where and what; the same for both languages.
function cast()
{
  hero = any("animal")
  do friend = any("animal"); while (friend == hero)
  place = any("place"); trait = any("trait"); hobby = any("hobby"); weather = any("weather")
  color = any("color"); thing = any("thing"); spot = any("spot"); food = any("food")
  skill = any("skill"); plant = any("plant"); trouble = any("trouble"); fear = any("fear")
  work = any("work")
}

# ---- English ----

function a_(word) { return (word ~ /^[aeiou]/ ? "an " : "a ") word }

function upper(text) { return toupper(substr(text, 1, 1)) substr(text, 2) }

function en_cast()
{
  H = "the " T["animal", hero, 1]; F = "the " T["animal", friend, 1]
  it = T["color", color, 1] " " T["thing", thing, 1]
}

function en_opening(    who)
{
  who = T["trait", trait, 1] " " T["animal", hero, 1]
  return pick("Once upon a time, " T["place", place, 1] ", there lived " a_(who) "." \
              "|Once upon a time, there was " a_(who) " who lived " T["place", place, 1] "." \
              "|Long ago, " a_(who) " lived " T["place", place, 1] ".") \
         " " pick(upper(H) " loved " T["hobby", hobby, 1] "." \
                  "|Every day " H " was busy " T["hobby", hobby, 1] "." \
                  "|" upper(H) " liked " T["hobby", hobby, 1] " more than anything else.")
}

function en_day()
{
  return pick("One " T["weather", weather, 1] " day, |One " T["weather", weather, 1] " morning, " \
              "|On a " T["weather", weather, 1] " afternoon, ")
}

function en_meets()
{
  return pick("Then " a_(T["animal", friend, 1]) " came by.|Just then " H " met " \
              a_(T["animal", friend, 1]) ".|On the way " H " saw " a_(T["animal", friend, 1]) ".")
}

function en_friends()
{
  return pick("From that day on, " H " and " F " were the best of friends." \
              "|And so " H " and " F " became good friends." \
              "|After that, " H " and " F " met every day.")
}

function en_lost()
{
  return en_day() H " lost a " it ". " \
         pick(upper(H) " looked everywhere, but could not find it.|" \
              upper(H) " searched all day long, but it was gone.") " " \
         en_meets() " \"Why are you " pick("sad|crying") "?\" asked " F ". \"I have lost my " it ",\" said " \
         H ". \"Do not worry, I will help you,\" said " F ". " upper(F) " " T["animal", friend, 4] \
         ", and there it was: the " it " was " T["spot", spot, 1] "! " \
         pick("\"Thank you!\" said " H " with a big smile.|" upper(H) " was so happy that they danced.") \
         " " en_friends() " " pick("A friend in need is a friend indeed.|Two find more than one.")
}

function en_share()
{
  return en_day() H " made some " T["food", food, 1] ". " en_meets() " " upper(F) " looked hungry. \"" \
         pick("What smells so good?|Is that food for you alone?") "\" asked " F ". \"I made " \
         T["food", food, 1] ",\" said " H ". \"" pick("Come and eat with me!|There is enough for two!") \
         "\" They sat down " pick("by the fire|in the sun|under a tree") " and ate the " \
         T["food", food, 1] " together. " \
         pick("\"This is the best meal of my life,\" said " F ".|It tasted better than ever.") \
         " The next day " F " brought a " it " as a gift. " en_friends() \
         " " pick("What we share makes us rich.|Food tastes better with a friend.")
}

function en_learn()
{
  return "But " H " could not " T["skill", skill, 1] ". " en_day() H " went to " F " and asked for help. " \
         "\"I want to " T["skill", skill, 1] ",\" said " H ". \"Then we must practice every day,\" said " F \
         ". " pick("At first it was very hard.|The first day went badly.") " " upper(H) " " \
         pick("fell down, but got up again|made many mistakes, but did not give up") ". " \
         pick("After seven days|After a long winter|When spring came") ", " H " could " \
         T["skill", skill, 1] " very well. \"I knew you could do it!\" said " F ". " \
         pick("Step by step we go far.|Those who do not give up will win.")
}

function en_rescue()
{
  return en_day() H " heard a cry for help. " upper(a_(T["animal", friend, 1])) " " \
         T["trouble", trouble, 1] ". \"Please help me!\" cried " F ". \"Hold on, I am coming!\" said " H ". " \
         pick(upper(H) " thought for a moment|" upper(H) " was not afraid") " and " \
         T["trouble", trouble, 2] ". Soon " F " was safe again. \"You saved my life,\" said " F ". " \
         "\"" pick("You would do the same for me|That is what friends are for") ",\" said " H ". " \
         en_friends() " " pick("A brave heart helps others.|Small hands can do great things.")
}

function en_fear()
{
  return "But " H " was afraid of " T["fear", fear, 1] ". One night " H " could not sleep and went to " \
         F ". \"I am afraid of " T["fear", fear, 1] ",\" said " H ". \"" \
         pick("Everybody is afraid sometimes|I was afraid too, long ago") ",\" said " F ". " upper(F) " " \
         T["fear", fear, 2] ". " \
         pick("They talked until the moon was high.|They drank hot tea and told stories.") \
         " After a while " H " was not afraid any more. \"" pick("Good night|Sleep well") ",\" said " F ". " \
         pick("With a friend, the night is short.|It is brave to ask for help.")
}

function en_plant()
{
  return en_day() H " found a small seed " T["spot", spot, 1] ". " en_meets() \
         " \"What will it become?\" asked " F ". \"We must wait and see,\" said " H ". " upper(H) \
         " put the seed into the ground and gave it water every day. " \
         pick("First nothing happened.|Many days went by.") " Then a green leaf came out, and in the end it was " \
         a_(T["plant", plant, 1]) ", as " pick("big|tall|beautiful") " as could be. " \
         pick("All the animals came to look.|Everybody was surprised.") " \"Good things take time,\" said " H \
         ". " en_friends()
}

function en_work()
{
  return en_day() H " wanted to build a " T["work", work, 1] ". \"It is too hard for me alone,\" said " \
         H ". " en_meets() " \"Let us do it together,\" said " F ". They took " T["work", work, 2] \
         " and worked " pick("from morning until evening|all day long") ". " upper(H) " " \
         pick("was strong|was quick") " and " F " " pick("had good ideas|was careful") \
         ". When the " T["work", work, 1] " was ready, they could " T["work", work, 3] ". \"" \
         pick("We did it!|How beautiful it is!") "\" said " F ". " en_friends() " " \
         pick("Together we can do more.|Many hands make light work.")
}

function en_gift()
{
  return "Tomorrow was the birthday of " a_(T["animal", friend, 1]) ". " upper(H) " had no money, only a " \
         it ". \"I will give away my " it ",\" said " H ". " upper(H) \
         " put it in a box and went to the house of " F ". \"Happy birthday!\" said " H \
         ". " upper(F) " opened the box and saw the " it ". \"" \
         pick("This is just what I wanted!|I have never had such a fine gift!") "\" said " F ". They ate " \
         T["food", food, 1] " and " pick("sang until night|laughed all evening") ". " \
         pick("To give is better than to take.|A small gift can bring great joy.")
}

function en_tale(plot,    text)
{
  en_cast()
  text = en_opening() " "
  if (plot == 0) text = text en_lost()
  if (plot == 1) text = text en_share()
  if (plot == 2) text = text en_learn()
  if (plot == 3) text = text en_rescue()
  if (plot == 4) text = text en_fear()
  if (plot == 5) text = text en_plant()
  if (plot == 6) text = text en_work()
  if (plot == 7) text = text en_gift()
  return text
}

# ---- Chinese ----

function zh_cast()
{
  H = T["animal", hero, 3]; F = T["animal", friend, 3]
  one_h = T["animal", hero, 2]; one_f = T["animal", friend, 2]
  it = T["color", color, 2] "的" T["thing", thing, 2]
}

function zh_opening(    who)
{
  who = one_h T["trait", trait, 2] "的" H
  return pick("从前，" T["place", place, 2] "住着" who "。|从前，有" who "，住在" T["place", place, 2] "。" \
              "|很久很久以前，" T["place", place, 2] "有" who "。") \
         pick(H "最喜欢" T["hobby", hobby, 2] "。|" H "每天都忙着" T["hobby", hobby, 2] "。" \
              "|没有什么比" T["hobby", hobby, 2] "更让" H "开心了。")
}

function zh_day()
{
  return pick("一个" T["weather", weather, 2] "的日子，|一个" T["weather", weather, 2] "的早上，" \
              "|一个" T["weather", weather, 2] "的下午，")
}

function zh_meets()
{
  return pick("这时，来了" one_f F "。|正好，" H "遇见了" one_f F "。|在路上，" H "看见了" one_f F "。")
}

function zh_friends()
{
  return pick("从那天起，" H "和" F "成了最好的朋友。|就这样，" H "和" F "成了好朋友。" \
              "|从此以后，" H "和" F "每天都见面。")
}

function zh_lost()
{
  return zh_day() H "丢了" it "。" pick(H "到处找，可是怎么也找不到。|" H "找了一整天，还是没有找到。") \
         zh_meets() "“你为什么" pick("难过|哭") "？”" F "问。“我丢了" it "。”" H "说。“别担心，我来帮你。”" \
         F "说。" F T["animal", friend, 5] "，终于找到了：" it "就在" T["spot", spot, 2] "！" \
         pick("“谢谢你！”" H "笑着说。|" H "高兴得跳起舞来。") zh_friends() \
         pick("患难见真情。|两个人一起找，总比一个人好。")
}

function zh_share()
{
  return zh_day() H "做了一些" T["food", food, 2] "。" zh_meets() F "看起来很饿。“" \
         pick("什么东西这么香？|这些是你一个人吃的吗？") "”" F "问。“我做了" T["food", food, 2] "。”" H "说。“" \
         pick("来和我一起吃吧！|足够两个人吃！") "”它们坐在" pick("火堆旁|阳光下|大树下") "，一起吃" \
         T["food", food, 2] "。" pick("“这是我吃过的最好的一顿饭。”" F "说。|味道比平时更好。") "第二天，" F \
         "送来了" it "作为礼物。" zh_friends() pick("分享让我们富有。|和朋友一起吃，味道更香。")
}

function zh_learn()
{
  return "可是" H "不会" T["skill", skill, 2] "。" zh_day() H "去请" F "帮忙。“我想学" \
         T["skill", skill, 2] "。”" H "说。“那我们必须每天练习。”" F "说。" \
         pick("开始的时候非常难。|第一天很不顺利。") H \
         pick("跌倒了，又爬起来|犯了很多错，可是没有放弃") "。" \
         pick("七天以后|过了一个长长的冬天|春天来的时候") "，" H "终于学会了" T["skill", skill, 2] \
         "。“我就知道你能做到！”" F "说。" pick("一步一步走，就能走得很远。|不放弃的人一定会成功。")
}

function zh_rescue()
{
  return zh_day() H "听见有人喊救命。原来，" one_f F T["trouble", trouble, 3] "。“请救救我！”" F \
         "喊道。“坚持住，我来了！”" H "说。" pick(H "想了一会儿|" H "一点儿也不害怕") "，" \
         T["trouble", trouble, 4] "。不久，" F "就安全了。“你救了我的命。”" F "说。“" \
         pick("你也会这样帮我的|这就是朋友") "。”" H "说。" zh_friends() \
         pick("勇敢的心会帮助别人。|小小的手也能做大事。")
}

function zh_fear()
{
  return "可是" H "害怕" T["fear", fear, 3] "。一天晚上，" H "睡不着，就去找" F "。“我害怕" \
         T["fear", fear, 3] "。”" H "说。“" pick("每个人都会有害怕的时候|很久以前，我也害怕") "。”" F "说。" F \
         T["fear", fear, 4] "。" pick("它们一直聊到月亮升得很高。|它们喝着热茶，讲着故事。") "过了一会儿，" H \
         "不再害怕了。“" pick("晚安|睡个好觉") "。”" F "说。" pick("有朋友在，夜晚就很短。|敢于求助也是一种勇敢。")
}

function zh_plant()
{
  return zh_day() H "在" T["spot", spot, 2] "发现了一颗小种子。" zh_meets() "“它会变成什么呢？”" F \
         "问。“我们等等看吧。”" H "说。" H "把种子放进土里，每天给它浇水。" \
         pick("开始什么也没有发生。|许多天过去了。") "后来，长出了一片绿叶，最后变成了" T["plant", plant, 2] \
         "，" pick("又大又好看|又高又漂亮") "。" pick("所有的动物都来看。|大家都很惊讶。") \
         "“好事需要时间。”" H "说。" zh_friends()
}

function zh_work()
{
  return zh_day() H "想造" T["work", work, 4] "。“我一个人做太难了。”" H "说。" zh_meets() \
         "“我们一起做吧。”" F "说。它们拿来" T["work", work, 5] "，" \
         pick("从早上忙到晚上|忙了一整天") "。" H pick("力气大|动作快") "，" F pick("主意多|很细心") \
         "。做好以后，它们就可以" T["work", work, 6] "了。“" pick("我们成功了！|真漂亮啊！") "”" F "说。" \
         zh_friends() pick("在一起，我们能做得更多。|人多力量大。")
}

function zh_gift()
{
  return "明天是" one_f F "的生日。" H "没有钱，只有" it "。“我就送" it "吧。”" H \
         "说。" H "把礼物放进盒子里，来到" F "的家。“生日快乐！”" H "说。" F "打开盒子，看见了" it "。“" \
         pick("这正是我想要的！|我从来没有收到过这么好的礼物！") "”" F "说。它们一起吃" T["food", food, 2] "，" \
         pick("唱歌唱到很晚|笑了一个晚上") "。" pick("给予比得到更快乐。|小小的礼物能带来大大的快乐。")
}

function zh_tale(plot,    text)
{
  zh_cast()
  text = zh_opening()
  if (plot == 0) text = text zh_lost()
  if (plot == 1) text = text zh_share()
  if (plot == 2) text = text zh_learn()
  if (plot == 3) text = text zh_rescue()
  if (plot == 4) text = text zh_fear()
  if (plot == 5) text = text zh_plant()
  if (plot == 6) text = text zh_work()
  if (plot == 7) text = text zh_gift()
  return text
}

BEGIN {
  if (tales == "") tales = 12000
  if (seed == "") seed = 1
  state = 1 + seed % 2147483646
  for (i = 0; i < 10; i++)
    chance(2)
  make_world()
  for (i = 0; i < tales; i++)
    {
      cast()
      text = chance(2) ? zh_tale(chance(8)) : en_tale(chance(8))
      gsub(/"/, "\\\"", text)
      print "{\"text\": \"" text "\"}"
    }
}
