# dialogues.awk -- questions and answers about the world of tales.awk, half of them English, half Chinese.
# SPDX-License-Identifier: Apache-2.0
#
#   awk -v tales=0 -f tales.awk -f dialogues.awk [-v dialogues=5000] [-v seed=1] > dialogues.jsonl
#
# One conversation a line: {"messages": [{"role": "user", "content": "..."}, ...]}.  The same arguments give the
# same bytes with any awk.  tales.awk makes the world and draws by chance.
#
# Who has learnt the tales knows the words; what is new is to answer: by what the question says, by what is known
# of an animal, by counting, in the other language, with a tale.  Dialogues have up to six exchanges; now and then one
# of them is in the other language.

# The next question of the dialogue under way, and its answer.
function exchange(question, answer)
{
  gsub(/"/, "\\\"", question)
  gsub(/"/, "\\\"", answer)
  dialogue = dialogue (dialogue == "" ? "" : ", ") "{\"role\": \"user\", \"content\": \"" question "\"}, " \
             "{\"role\": \"assistant\", \"content\": \"" answer "\"}"
}

function make_words()
{
  table("name", "Momo|墨墨\nNana|娜娜\nLily|莉莉\nToby|托比\nRobin|罗宾\nTom|汤姆\nAnna|安娜\nLeo|乐乐\nMia|小雅\n" \
    "Ben|小本\nKim|小金\nMax|小麦\nRose|小玫\nSunny|小阳\nLuna|小月\nStella|小星")
  table("number", "one|一\ntwo|二\nthree|三\nfour|四\nfive|五\nsix|六\nseven|七\neight|八\nnine|九\nten|十\n" \
    "eleven|十一\ntwelve|十二")
}

# FROM to TO in words of LANGUAGE, 1 or 2, with BETWEEN between them.
function count_up(from, to, language, between,    i, text)
{
  text = T["number", from, language]
  for (i = from + 1; i <= to; i++)
    text = text between T["number", i, language]
  return text
}

# ---- English ----

function en_hello(    you)
{
  you = T["name", any("name"), 1]
  if (chance(2))
    exchange(pick("Hello, I am |Hi! My name is |Hello! I am ") you ".",
             "Hello, " you "! " pick("What shall we talk about?|Shall I tell you a tale?"))
  else
    exchange(pick("Hello!|Hi!|Good morning!|Good evening!|Hello|Hi"),
             pick("Hello! What shall we talk about?|Hello! Shall I tell you a tale?"))
}

# What the question says.
function en_told(what,    you)
{
  if (what == 0)
    exchange("The " hero_name " has a " it ". What color is the " thing_name "?",
             "The " thing_name " is " T["color", color, 1] ".")
  if (what == 1)
    exchange("The " hero_name " lives " T["place", place, 1] ". Where does the " hero_name " live?",
             "The " hero_name " lives " T["place", place, 1] ".")
  if (what == 2)
    exchange("The " hero_name " lost a " it " and the " friend_name " found it. Who found the " thing_name "?",
             "The " friend_name " found the " thing_name ".")
  if (what == 3)
    exchange("The " hero_name " made some " T["food", food, 1] ". What did the " hero_name " make?",
             "The " hero_name " made some " T["food", food, 1] ".")
  if (what == 4)
    {
      you = T["name", any("name"), 1]
      exchange(pick("My name is |I am called ") you ". What is my name?", "Your name is " you ".")
    }
}

# What is known.
function en_known(what,    a, b)
{
  a = 1 + chance(6); b = 1 + chance(6)
  if (what == 0)
    exchange("How did the " hero_name " look for the " thing_name "?",
             "The " hero_name " " T["animal", hero, 4] ".")
  if (what == 1)
    exchange(pick("What is a \"" hero_name "\" in Chinese?|How do you say \"" hero_name "\" in Chinese?"),
             "“" T["animal", hero, 3] "”")
  if (what == 2)
    exchange("Count from " T["number", a, 1] " to " T["number", a + b, 1] ".",
             upper(count_up(a, a + b, 1, ", ")) ".")
  if (what == 3)
    exchange("What is " T["number", a, 1] " and " T["number", b, 1] "?",
             upper(T["number", a, 1]) " and " T["number", b, 1] " is " T["number", a + b, 1] ".")
}

function en_question()
{
  hero_name = T["animal", hero, 1]; friend_name = T["animal", friend, 1]; thing_name = T["thing", thing, 1]
  it = T["color", color, 1] " " thing_name
  if (chance(2))
    en_told(chance(5))
  else
    en_known(chance(4))
}

function en_tale_wanted()
{
  exchange(pick("Tell me a tale about " a_(T["animal", hero, 1]) ".|Please tell me about " a_(T["animal", hero, 1]) "."),
           en_tale(chance(8)))
}

function en_end()
{
  if (chance(2))
    exchange(pick("Thank you!|Thanks.|Thank you very much."), pick("You are welcome!|I was glad to help."))
  else
    exchange(pick("Goodbye!|Bye!|Good night!"), pick("Goodbye! Come back soon.|Goodbye, and sleep well!"))
}

function en_who()
{
  exchange(pick("Who are you?|What is your name?|Do you have a name?"),
           "I am a small model that tells tales. I have no name yet.")
}

# ---- Chinese ----

function zh_hello(    you)
{
  you = T["name", any("name"), 2]
  if (chance(2))
    exchange(pick("你好，我是|你好！我叫") you "。", you "，你好！" pick("我们聊点什么？|要我讲个故事吗？"))
  else
    exchange(pick("你好！|早上好！|晚上好！|你好|您好！"), pick("你好！我们聊点什么？|你好！要我讲个故事吗？"))
}

function zh_told(what,    you)
{
  if (what == 0)
    exchange(hero_name "有" it "。" thing_name "是什么颜色的？", thing_name "是" T["color", color, 2] "的。")
  if (what == 1)
    exchange(hero_name "住在" T["place", place, 2] "。" hero_name "住在哪里？", hero_name "住在" T["place", place, 2] "。")
  if (what == 2)
    exchange(hero_name "丢了" it "，" friend_name "找到了它。谁找到了" thing_name "？", friend_name "找到了" thing_name "。")
  if (what == 3)
    exchange(hero_name "做了一些" T["food", food, 2] "。" hero_name "做了什么？", hero_name "做了一些" T["food", food, 2] "。")
  if (what == 4)
    {
      you = T["name", any("name"), 2]
      exchange(pick("我叫|我的名字是") you "。我叫什么名字？", "你叫" you "。")
    }
}

function zh_known(what,    a, b)
{
  a = 1 + chance(6); b = 1 + chance(6)
  if (what == 0)
    exchange(hero_name "是怎么找" thing_name "的？", hero_name T["animal", hero, 5] "。")
  if (what == 1)
    exchange("“" hero_name "”用英语怎么说？", "“" T["animal", hero, 1] "”")
  if (what == 2)
    exchange("从" T["number", a, 2] "数到" T["number", a + b, 2] "。", count_up(a, a + b, 2, "、") "。")
  if (what == 3)
    exchange(T["number", a, 2] "加" T["number", b, 2] "等于几？",
             T["number", a, 2] "加" T["number", b, 2] "等于" T["number", a + b, 2] "。")
}

function zh_question()
{
  hero_name = T["animal", hero, 3]; friend_name = T["animal", friend, 3]; thing_name = T["thing", thing, 2]
  it = T["color", color, 2] "的" thing_name
  if (chance(2))
    zh_told(chance(5))
  else
    zh_known(chance(4))
}

function zh_tale_wanted()
{
  exchange(pick("给我讲一个" T["animal", hero, 3] "的故事。|请讲讲" T["animal", hero, 3] "的故事。"), zh_tale(chance(8)))
}

function zh_end()
{
  if (chance(2))
    exchange(pick("谢谢你！|谢谢！|多谢！"), pick("不客气！|很高兴能帮到你。"))
  else
    exchange(pick("再见！|晚安！"), pick("再见！欢迎再来。|再见，祝你好梦！"))
}

function zh_who()
{
  exchange(pick("你是谁？|你叫什么名字？|你有名字吗？"), "我是一个讲故事的小模型，还没有名字。")
}

# ---- dialogues ----

# One exchange of KIND.
function en_exchange(kind)
{
  if (kind == "hello") en_hello()
  if (kind == "tale") en_tale_wanted()
  if (kind == "who") en_who()
  if (kind == "question") en_question()
  if (kind == "end") en_end()
}

function zh_exchange(kind)
{
  if (kind == "hello") zh_hello()
  if (kind == "tale") zh_tale_wanted()
  if (kind == "who") zh_who()
  if (kind == "question") zh_question()
  if (kind == "end") zh_end()
}

# An exchange of KIND about others than before, in the dialogue's language as a rule.
function go_on(kind)
{
  cast()
  if (chance(8) ? chinese : !chinese) zh_exchange(kind); else en_exchange(kind)
}

# A greeting or none, up to four questions, or fewer and a tale, and an end or none.
function talk(    n, told)
{
  chinese = chance(2)
  n = 1 + chance(4)
  told = chance(6)
  if (chance(3) == 0) go_on("hello")
  while (n-- > 0)
    if (n == 0 && told == 0) go_on("tale"); else go_on(chance(8) ? "question" : "who")
  if (chance(4) == 0) go_on("end")
}

BEGIN {
  if (dialogues == "") dialogues = 5000
  make_words()
  for (i = 0; i < dialogues; i++)
    {
      dialogue = ""
      talk()
      print "{\"messages\": [" dialogue "]}"
    }
}
